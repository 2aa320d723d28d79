//! Names for runs that others are checked against.

use anyhow::{Result, bail, ensure};
use rusqlite::{Transaction, params};

use crate::store::interface::Baseline;

pub(super) fn set(transaction: &Transaction<'_>, name: &str, run: i64) -> Result<()> {
    transaction.execute(
        "INSERT INTO baseline (name, run, checksum) VALUES (?1, ?2, checksum_of(?1, ?2))
         ON CONFLICT (name) DO UPDATE SET run = excluded.run, checksum = excluded.checksum",
        params![name, run],
    )?;
    Ok(())
}

pub(super) fn list(transaction: &Transaction<'_>) -> Result<Vec<Baseline>> {
    let mut statement = transaction.prepare_cached(
        "SELECT name, run, checksum = checksum_of(name, run) FROM baseline ORDER BY name",
    )?;
    let rows = statement.query_map([], |row| {
        let baseline = Baseline { name: row.get(0)?, id: row.get::<_, i64>(1)?.to_string() };
        Ok((baseline, row.get::<_, bool>(2)?))
    })?;
    let checked = rows.map(|row| {
        let (baseline, is_whole) = row?;
        ensure!(
            is_whole,
            "the baseline {:?} is damaged: `bytelab baseline delete` it, and set it again",
            baseline.name
        );
        Ok(baseline)
    });
    checked.collect()
}

pub(super) fn delete(transaction: &Transaction<'_>, name: &str) -> Result<()> {
    let deleted = transaction.execute("DELETE FROM baseline WHERE name = ?1", [name])?;
    ensure!(deleted == 1, "no baseline {name:?}; `bytelab baseline list` shows all");
    Ok(())
}

/// If a baseline were removed, the next check would not find it.
pub(super) fn refuse_if_named(transaction: &Transaction<'_>, run: i64) -> Result<()> {
    let named = list(transaction)?.into_iter().find(|baseline| baseline.id == run.to_string());
    if let Some(Baseline { name, id }) = named {
        bail!("run {id} is the baseline {name:?}: `bytelab baseline delete {name}` first");
    }
    Ok(())
}
