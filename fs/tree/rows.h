/* The rows of the tree, and the files that define them. */
#ifndef ROWS_H
#define ROWS_H

#include "kind.h"

extern const struct kind kind_root;          /* root.c */
extern const struct kind kind_virtual;       /* kind_virtual.c: repos/, global/ and below */
extern const struct kind kind_custom;        /* kind_custom.c */
extern const struct kind kind_lock;          /* kind_lock.c */
extern const struct kind kind_queue_dir;     /* kind_queue.c: on the way to a queue */
extern const struct kind kind_queue;         /* kind_queue.c: one lock's queue */
extern const struct kind kind_ticket;        /* kind_ticket.c */
extern const struct kind kind_wait_dir;      /* kind_wait.c */
extern const struct kind kind_wait;          /* kind_wait.c */
extern const struct kind kind_owners;        /* kind_owners.c: owners/ and its directories */
extern const struct kind kind_owner;         /* kind_owners.c: <url>/-/owner */
extern const struct kind kind_reference;     /* kind_reference.c: <url>/-/applications/<id> */
extern const struct kind kind_shared_root;   /* kind_shared.c */
extern const struct kind kind_shared;        /* kind_shared.c: one resource */
extern const struct kind kind_apps;          /* kind_shared.c */
extern const struct kind kind_app;           /* kind_app.c */
extern const struct kind kind_verdict;       /* kind_app.c */
extern const struct kind kind_guard;         /* kind_app.c */
extern const struct kind kind_by;            /* kind_by.c */
extern const struct kind kind_by_groups;     /* kind_by.c: by/owner/ and its like */
extern const struct kind kind_by_group;      /* kind_by.c: by/owner/alice/ and its like */
extern const struct kind kind_link;          /* kind_link.c: a link to a lock, in by/ and pulls/ */
extern const struct kind kind_pull_dir;      /* kind_pull.c: pulls/ and on the way to a pull request */
extern const struct kind kind_pull;          /* kind_pull.c: one pull request */
extern const struct kind kind_pull_locks;    /* kind_pull.c */
extern const struct kind kind_pull_file;     /* kind_pull_file.c */
extern const struct kind kind_pull_projects; /* kind_pull_project.c: projects/ and below */
extern const struct kind kind_pull_project;  /* kind_pull_project.c */
extern const struct kind kind_config;        /* kind_config.c */
extern const struct kind kind_option;        /* kind_config.c: config/<option> */
extern const struct kind kind_events;        /* kind_events.c */
extern const struct kind kind_events_day;    /* kind_events.c: events/<day>.jsonl */
extern const struct kind kind_events_live;   /* kind_events.c */
extern const struct kind kind_events_anchor; /* kind_events.c */
extern const struct kind kind_events_chains; /* kind_events.c */
extern const struct kind kind_locks_jsonl;   /* kind_jsonl.c */
extern const struct kind kind_metrics_dir;   /* kind_metrics.c */
extern const struct kind kind_metrics;       /* kind_metrics.c */
extern const struct kind kind_health;        /* kind_static.c */
extern const struct kind kind_why;           /* kind_static.c */
extern const struct kind kind_readme;        /* kind_static.c */

#endif
