//! Runs as bytes: the document of a run, and the block of a cell's samples. Both are compressed.

use anyhow::{Context, Result, ensure};
use lab::run::{Cell, Run};

use crate::store::columns::{from_json, to_json};
use crate::store::packed::{self, Bytes, Packed, without_samples};

/// Level 9 takes a quarter of a sample's bytes less than level 1, and a millisecond for a run.
const LEVEL: i32 = 9;

/// A block that claims to be larger is damaged: a hostile one must not take all memory.
const BYTES_MAX: usize = 1 << 32;

/// The run without samples.
pub(super) fn document(run: &Run) -> Result<Vec<u8>> {
    let document = Run {
        id: String::new(),
        uuid: run.uuid.clone(),
        experiment: run.experiment.clone(),
        question: run.question.clone(),
        label: run.label.clone(),
        started: run.started.clone(),
        environment: run.environment.clone(),
        plan: run.plan.clone(),
        points: run.points.clone(),
        cells: run.cells.iter().map(without_samples).collect(),
        notes: run.notes.clone(),
        ..*run
    };
    compressed(to_json(&document)?.as_bytes())
}

/// The run without samples.
pub(super) fn run_of(document: &[u8]) -> Result<Run> {
    let text = String::from_utf8(decompressed(document)?).context("its document is no text")?;
    from_json("document", &text)
}

/// The answers of a cell as JSON, and its samples.
pub(super) fn block(cell: &Cell) -> Result<(String, Vec<u8>)> {
    let Packed { answers, reasons, data } = packed::pack(&cell.samples);
    let mut raw = Vec::new();
    put(&mut raw, to_json(&reasons)?.as_bytes());
    put(&mut raw, &data);
    for (name, values) in &cell.values {
        put(&mut raw, name.as_bytes());
        put(&mut raw, &transposed(&packed::pack_values(values)));
    }
    Ok((to_json(&answers)?, compressed(&raw)?))
}

/// Adds the samples of a block to the cell, with the values of these metrics.
pub(super) fn read_block(
    cell: &mut Cell,
    answers: &[String],
    block: &[u8],
    is_read: impl Fn(&str) -> bool,
) -> Result<()> {
    let raw = decompressed(block)?;
    let mut bytes = Bytes(&raw);
    let reasons: Vec<String> = from_json("reasons", str::from_utf8(taken(&mut bytes)?)?)?;
    cell.samples = packed::unpack(answers, &reasons, taken(&mut bytes)?)?;
    while !bytes.0.is_empty() {
        let name = str::from_utf8(taken(&mut bytes)?)?;
        let values = taken(&mut bytes)?;
        if is_read(name) {
            let values = packed::unpack_values(&restored(values), cell.samples.len())?;
            cell.values.insert(name.to_owned(), values);
        }
    }
    Ok(())
}

fn compressed(bytes: &[u8]) -> Result<Vec<u8>> {
    Ok(zstd::bulk::compress(bytes, LEVEL)?)
}

fn decompressed(bytes: &[u8]) -> Result<Vec<u8>> {
    let size = zstd::zstd_safe::get_frame_content_size(bytes).ok().flatten();
    let size = size.and_then(|size| usize::try_from(size).ok()).context("its data is damaged")?;
    ensure!(size <= BYTES_MAX, "its data is damaged: it claims to have {size} bytes");
    zstd::bulk::decompress(bytes, size).context("its data is damaged")
}

fn put(raw: &mut Vec<u8>, bytes: &[u8]) {
    raw.extend((bytes.len() as u64).to_le_bytes());
    raw.extend(bytes);
}

fn taken<'a>(bytes: &mut Bytes<'a>) -> Result<&'a [u8]> {
    let len = bytes.take(8)?.first_chunk().map(|len| u64::from_le_bytes(*len)).unwrap_or_default();
    bytes.take(usize::try_from(len)?)
}

/// The first byte of a column, which is its form, and then the bytes of its numbers in order of
/// their significance: the high ones of similar numbers are equal.
fn transposed(column: &[u8]) -> Vec<u8> {
    let (form, numbers) = column.split_at(1.min(column.len()));
    let (numbers, _) = numbers.as_chunks::<8>();
    let bytes = (0..8).flat_map(|i| numbers.iter().map(move |number| number[i]));
    form.iter().copied().chain(bytes).collect()
}

/// [`transposed`], undone.
fn restored(column: &[u8]) -> Vec<u8> {
    let (form, bytes) = column.split_at(1.min(column.len()));
    let n = bytes.len() / 8;
    let numbers = (0..n).flat_map(|i| (0..8).map(move |byte| bytes[byte * n + i]));
    form.iter().copied().chain(numbers).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::store::tests::suite::{new_run, new_sample, new_values};

    fn cell(rounds: u32) -> Cell {
        let mut cell = new_run("packed").cells.swap_remove(0);
        (0..rounds).for_each(|round| cell.push(new_sample(round, 0), &new_values(round)));
        cell
    }

    fn read(cell: &Cell, block: &[u8]) -> Result<Cell> {
        let mut back = without_samples(cell);
        let (answers, _) = super::block(cell)?;
        read_block(&mut back, &from_json::<Vec<String>>("answers", &answers)?, block, |_| true)?;
        Ok(back)
    }

    #[test]
    fn a_cell_comes_back() {
        for rounds in [0, 1, 2, 100] {
            let cell = cell(rounds);
            assert_eq!(read(&cell, &block(&cell).unwrap().1).unwrap(), cell);
        }
    }

    #[test]
    fn only_the_metrics_that_are_wanted_are_read() {
        let cell = cell(3);
        let (answers, block) = block(&cell).unwrap();
        let answers: Vec<String> = from_json("answers", &answers).unwrap();
        let mut back = without_samples(&cell);
        read_block(&mut back, &answers, &block, |name| name == "cpu_ns").unwrap();
        assert_eq!(back.values.keys().collect::<Vec<_>>(), ["cpu_ns"]);
        assert_eq!(back.samples, cell.samples);
    }

    proptest! {
        #[test]
        fn columns_are_restored(form: u8, numbers: Vec<u64>) {
            let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
            let column: Vec<u8> = std::iter::once(form).chain(bytes).collect();
            prop_assert_eq!(restored(&transposed(&column)), column);
        }

        #[test]
        fn no_block_panics(at: usize, byte: u8, cut: usize, raw: Vec<u8>) {
            let cell = cell(3);
            let mut damaged = block(&cell).unwrap().1;
            let len = damaged.len();
            damaged[at % len] = byte;
            damaged.truncate(len - cut % 3);
            let _ = read(&cell, &damaged);
            let _ = read(&cell, &compressed(&raw).unwrap());
        }
    }
}
