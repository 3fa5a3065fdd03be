"""What the tests share: a small log with groups of taste, a data set, trained models, the program."""

import os
import pathlib
import subprocess

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import inmo


@pytest.fixture(scope="session")
def root():
    """The folder of the sources; None when only the installed package is there."""
    found = os.environ.get("INMO_ROOT")
    return pathlib.Path(found) if found else None


@pytest.fixture(scope="session")
def program():
    """Runs the program of the same build and returns what it prints."""
    path = os.environ.get("INMO_PROGRAM")
    if not path or not os.path.exists(path):
        pytest.skip("INMO_PROGRAM names no program to compare with")

    def run(*words, **keywords):
        done = subprocess.run([path, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **keywords)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def log(tmp_path_factory):
    """The path of a synthetic log."""
    path = tmp_path_factory.mktemp("log") / "log.tsv"
    return inmo.synth(path, interactions=6000, users=200, items=120, seed=5)


@pytest.fixture(scope="session")
def data(log):
    return inmo.prepare(log, seed=3)


SMALL = {"dim": 16, "epochs": 6, "seed": 2}


@pytest.fixture(scope="session")
def model(data):
    return inmo.train(data, **SMALL)


@pytest.fixture(scope="session")
def matrix():
    """Users by items, with groups; every column has somebody."""
    rng = np.random.default_rng(11)
    dense = rng.random((90, 60)) < np.where(np.arange(90)[:, None] % 4 == np.arange(60)[None] % 4, 0.35, 0.03)
    dense[np.arange(60), np.arange(60)] = True
    return csr_matrix(dense.astype(np.float32))
