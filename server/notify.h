/* notify.h - tells systemd how the service is doing (the protocol of sd_notify(3), Type=notify).
 *
 * Not libsystemd: the protocol is one datagram to the socket that NOTIFY_SOCKET names, and is stable; the library
 * would be one more dependency of a program that mostly runs without systemd.
 *
 * Every call returns 1 when the message was sent, 0 when nobody wants one (NOTIFY_SOCKET is not set), and -1 with
 * errno when it could not be sent, which a server may ignore. Any thread. */
#ifndef INMO_SERVER_NOTIFY_H
#define INMO_SERVER_NOTIFY_H

/* The server answers requests. status is shown by systemctl status; NULL for none. Newlines in it become spaces. */
int notify_ready(const char *status);
/* Keys and certificates are being read again; notify_ready ends it. */
int notify_reloading(void);
/* The server stops and finishes what it has begun. */
int notify_stopping(const char *status);
/* What systemctl status shows. */
int notify_status(const char *status);
/* Still alive; to be sent more often than every notify_watchdog_seconds. */
int notify_watchdog(void);

/* WatchdogSec= of the unit in seconds, 0 when nobody watches this process. */
double notify_watchdog_seconds(void);

#endif
