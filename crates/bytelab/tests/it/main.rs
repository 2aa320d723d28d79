//! The program as a user runs it: each module starts the real binary with its own store and data.

#![expect(clippy::unwrap_used, reason = "a test may end at what it does not expect")]

mod against;
mod alert;
mod awaiting;
mod bad_input;
mod bench;
mod bench_hyperfine;
mod bench_revisions;
mod bench_shown;
mod bench_time;
mod buckets;
mod cat;
mod cat_calls;
mod cat_download;
mod cat_http;
mod cat_resume;
mod cat_show;
mod cat_table;
mod check;
mod closed_streams;
mod compare;
mod compare_by;
mod copying;
mod counting;
mod custom;
mod damaged;
mod decoding;
mod destination;

mod ended_with_the_lab;
mod export;
mod fleece;
mod help;
mod hostile_names;
mod http;
mod import;
mod import_own;
mod import_shapes;
mod kill;
mod languages;
mod languages_chosen;
mod languages_examples;
mod latency;
mod layout;
mod left_behind;
mod links;
mod loading;
mod locked;
mod memory;
mod names;
mod numbers;
mod odd_paths;
mod output;
mod passwords;
mod program;
#[cfg(feature = "postgres")]
mod proxy;
mod published;
#[cfg(feature = "postgres")]
mod push;
#[cfg(feature = "postgres")]
mod push_chaos;
mod readme;
mod recipes;
mod release;
mod report;
mod sample;
mod sample_choices;
mod sample_groups;
mod sample_input;
mod sample_kinds;
mod sample_mergeable;
#[cfg(feature = "parquet")]
mod sample_parquet;
mod self_test;
mod serve;
mod shells;
mod signals;
mod stored;
mod suite;
mod terminal;
mod tidy;
mod trace;
mod whole_job;
mod why;
