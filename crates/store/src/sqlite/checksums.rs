//! The checksums of the store and the columns that they cover. SQLite itself notices damage only in
//! the structure of its file.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Result, ensure};
use flate2::Crc;
use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Transaction};
use serde::{Deserialize, Serialize};

/// The columns of a run that its checksum covers: all but `unsent`, which is no part of the run.
const RUN: &str = "id, uuid, schema, experiment, question, label, started, complete, environment, \
                   plan, points, notes, cells, samples, fingerprint, cpu_model, next_sample";

/// The columns of a cell that its checksum covers: all.
pub(super) const CELL: &str = "run, position, method, about, role, language, point, status, \
                               reason, digest, syscalls_by_name, answers, blocks";

/// The checksums of the samples of a cell. A row that is missing is noticed, too.
#[derive(Serialize, Deserialize)]
pub(super) struct CellChecksums {
    pub(super) samples: u32,
    pub(super) metrics: BTreeMap<String, u32>,
}

/// The run was written by a newer bytelab.
#[derive(Debug)]
pub(super) struct NewerSchema(pub(super) u32);

impl fmt::Display for NewerSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NewerSchema(schema) = self;
        write!(f, "it was written by a newer bytelab (schema {schema}): update bytelab")
    }
}

impl std::error::Error for NewerSchema {}

/// Makes `checksum_of` known to SQL: the checksum of its arguments.
pub(super) fn define(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_DIRECTONLY;
    connection.create_scalar_function("checksum_of", -1, flags, |arguments| {
        let mut crc = Crc::new();
        for i in 0..arguments.len() {
            match arguments.get_raw(i) {
                ValueRef::Null => crc.update(b"n"),
                ValueRef::Integer(value) => add(&mut crc, b"i", &value.to_le_bytes()),
                ValueRef::Real(value) => add(&mut crc, b"r", &value.to_le_bytes()),
                ValueRef::Text(bytes) => add(&mut crc, b"t", bytes),
                ValueRef::Blob(bytes) => add(&mut crc, b"b", bytes),
            }
        }
        Ok(crc.sum())
    })
}

fn add(crc: &mut Crc, kind: &[u8], bytes: &[u8]) {
    crc.update(kind);
    crc.update(&(bytes.len() as u64).to_le_bytes());
    crc.update(bytes);
}

/// The checksum of the samples of a cell without their values.
pub(super) fn of_samples(reasons: &str, data: &[u8]) -> u32 {
    let mut crc = Crc::new();
    add(&mut crc, b"t", reasons.as_bytes());
    add(&mut crc, b"b", data);
    crc.sum()
}

/// The checksum of bytes.
pub(super) fn of_bytes(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Sets the checksum of a run, after its last change in a transaction.
pub(super) fn seal(transaction: &Transaction<'_>, run: i64) -> Result<()> {
    let sealed = format!("UPDATE run SET checksum = checksum_of({RUN}) WHERE id = ?1");
    transaction.prepare_cached(&sealed)?.execute([run])?;
    Ok(())
}

/// Sets the checksum of a cell.
pub(super) fn seal_cell(transaction: &Transaction<'_>, run: i64, position: usize) -> Result<()> {
    let sealed =
        format!("UPDATE cell SET checksum = checksum_of({CELL}) WHERE run = ?1 AND position = ?2");
    transaction.prepare_cached(&sealed)?.execute((run, position))?;
    Ok(())
}

/// Refuses the row of a run, which must exist, that is not as it was written.
pub(super) fn check(transaction: &Transaction<'_>, run: i64) -> Result<()> {
    let query = format!("SELECT checksum = checksum_of({RUN}) FROM run WHERE id = ?1");
    let is_whole: bool = transaction.prepare_cached(&query)?.query_one([run], |row| row.get(0))?;
    ensure!(is_whole, "its checksum is wrong");
    Ok(())
}
