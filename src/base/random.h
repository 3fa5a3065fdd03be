/* random.h - random numbers as functions of (seed, stream, counter): nothing is stored, any thread can compute any
 * of them, and the same arguments give the same number on every machine.
 *
 * The mixer is the finaliser of splitmix64 (Steele, Lea, Flood 2014) applied to the counter, keyed by a mixed
 * (seed, stream). docs/math.md has it as a formula; tests/golden computes it again in Python. */
#ifndef INMO_BASE_RANDOM_H
#define INMO_BASE_RANDOM_H

#include <math.h>
#include <stdint.h>

/* One stream per purpose, so that no two uses share a sequence. */
enum inmo_stream {
    INMO_STREAM_INIT = 1,           /* initial parameters */
    INMO_STREAM_BATCH = 2,          /* BPR triples */
    INMO_STREAM_SELF_BATCH = 3,     /* triples of the self-enhanced loss */
    INMO_STREAM_DROP_USER = 4,      /* dropped entries of the users' sums */
    INMO_STREAM_DROP_ITEM = 5,      /* dropped entries of the items' sums */
    INMO_STREAM_SPLIT = 6,          /* train/valid/test */
    INMO_STREAM_SCENARIO = 7,       /* new users, items and interactions of an inductive scenario */
    INMO_STREAM_SYNTH = 8,          /* synthetic logs */
    INMO_STREAM_TEMPLATE = 9,       /* random templates */
    INMO_STREAM_SVD = 10,           /* start of the truncated SVD */
    INMO_STREAM_NEGATIVE = 11,      /* negatives shared by a batch */
    INMO_STREAM_BACKBONE_INIT = 12, /* initial values of a backbone's parameters */
    INMO_STREAM_EDGE_USER = 13,     /* dropped edges of the graph, rows of users */
    INMO_STREAM_EDGE_ITEM = 14,     /* rows of items */
    INMO_STREAM_MESSAGE = 15,       /* dropped numbers of a layer's output */
    INMO_STREAM_NODE = 16,          /* dropped nodes of a layer's input */
    INMO_STREAM_LATENT = 17,        /* latent samples of mult-vae */
    INMO_STREAM_TUNE = 20,          /* settings of the trials of a search */
    INMO_STREAM_SIGN = 21,          /* signs of the paired test */
    INMO_STREAM_RESAMPLE = 40,      /* users of the bootstrap */
    INMO_STREAM_VALIDATION = 22,    /* sample of validation users */
    INMO_STREAM_HEAD_INIT = 23,     /* initial values of a head's parameters */
    INMO_STREAM_PROVIDER_INIT = 24, /* initial values of a provider's weights */
    INMO_STREAM_KEYS = 25,          /* sampled keys of idcf */
    INMO_STREAM_HEAD_ANEW = 26,     /* a head's parameters when its pretrained parts are joined */
    INMO_STREAM_HOLD_OUT = 27,      /* what training holds out of a data set without a validation part */
};

static inline uint64_t inmo_mix64(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* The key of a stream; compute once, then inmo_random(key, counter). */
static inline uint64_t inmo_key(uint64_t seed, uint64_t stream)
{
    return inmo_mix64(inmo_mix64(seed) ^ (stream * 0xd1342543de82ef95u));
}

static inline uint64_t inmo_random(uint64_t key, uint64_t counter)
{
    return inmo_mix64(key ^ (counter * 0xa0761d6478bd642fu + 0x2545f4914f6cdd1du));
}

/* Uniform in [0, n) for n < 2^32 (multiply-shift; its bias is below n / 2^64 here). */
static inline uint32_t inmo_random_below(uint64_t bits, uint32_t n)
{
    return (uint32_t)(((unsigned __int128)bits * n) >> 64);
}

/* Uniform in [0, 1) with 53 bits. */
static inline double inmo_random_unit(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

/* Standard normal by Box-Muller from two counters (2c, 2c + 1). */
static inline double inmo_random_normal(uint64_t key, uint64_t counter)
{
    double u = 1.0 - inmo_random_unit(inmo_random(key, 2 * counter)); /* (0, 1]: its logarithm is finite */
    double v = inmo_random_unit(inmo_random(key, 2 * counter + 1));
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

/* Uniform in [-bound, bound). */
static inline double inmo_random_symmetric(uint64_t key, uint64_t counter, double bound)
{
    return bound * (2 * inmo_random_unit(inmo_random(key, counter)) - 1);
}

/* Bound of the uniform distribution that keeps the variance through a rectified layer (He et al. 2015). */
static inline double inmo_kaiming_bound(int inputs)
{
    return sqrt(6.0 / inputs);
}

#endif
