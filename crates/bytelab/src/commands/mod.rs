//! The subcommands: one file or folder each, with its arguments and its `run(args, &Context)`.

mod alert;
pub(crate) mod baseline;
pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
mod context;
pub(crate) mod delete;
pub(crate) mod doctor;
pub(crate) mod exit;
pub(crate) mod export;
mod fleet;
pub(crate) mod hidden;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod init;
mod keep_args;
pub(crate) mod label;
mod limits;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod measure_args;
pub(crate) mod numbers;
pub(crate) mod output;
pub(crate) mod push;
pub(crate) mod report;
pub(crate) mod run;
mod same_job;
pub(crate) mod self_test;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod study;

pub(crate) use self::context::Context;
