//! Runs as bytes: the document of a run, and the block of a cell's samples. Both are compressed,
//! and may come from anybody who may write: a few bytes must not become more than memory has.

use anyhow::{Context, Result, ensure};
use model::run::{Cell, Run, Sample};

use crate::packed::{self, ByteReader, Packed, from_json, to_json, without_samples};

/// Level 9 takes a quarter of a sample's bytes less than level 1, and a millisecond for a run.
const LEVEL: i32 = 9;

/// Limits of a run, in bytes. A document has 100 KB; a sample with its values takes about 200 bytes
/// of memory.
pub(super) const DOCUMENT_MAX: usize = 1 << 26;
pub(super) const SAMPLES_MAX: usize = 1 << 30;

/// The memory that the samples of a run may still take.
pub(super) struct MemoryBudget(usize);

impl MemoryBudget {
    pub(super) fn new() -> MemoryBudget {
        MemoryBudget(SAMPLES_MAX)
    }

    /// Takes what `n` samples need that have these texts.
    fn take_samples<T: AsRef<str>>(&mut self, n: usize, texts: [&[T]; 2]) -> Result<()> {
        let longest = |texts: &[T]| texts.iter().map(|text| text.as_ref().len()).max();
        let texts: usize = texts.map(|texts| longest(texts).unwrap_or_default()).iter().sum();
        self.take(n, size_of::<Sample>() + texts)
    }

    fn take(&mut self, n: usize, bytes: usize) -> Result<()> {
        let left = n.checked_mul(bytes).and_then(|bytes| self.0.checked_sub(bytes));
        self.0 = left.with_context(|| format!("its samples take more than {SAMPLES_MAX} bytes"))?;
        Ok(())
    }
}

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
    let text = to_json(&document)?;
    ensure!(text.len() <= DOCUMENT_MAX, "without samples it has more than {DOCUMENT_MAX} bytes");
    compressed(text.as_bytes())
}

/// The run without samples.
pub(super) fn run_of(document: &[u8]) -> Result<Run> {
    let text = decompressed(document, DOCUMENT_MAX)?;
    let text = String::from_utf8(text).context("its document is no text")?;
    from_json("document", &text)
}

/// The answers of a cell as JSON, and its samples.
pub(super) fn block(cell: &Cell, room: &mut MemoryBudget) -> Result<(String, Vec<u8>)> {
    let Packed { answers, reasons, data } = packed::pack(&cell.samples);
    room.take_samples(cell.samples.len(), [&answers, &reasons])?;
    room.take(cell.samples.len(), size_of::<f64>() * cell.values.len())?;
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
    room: &mut MemoryBudget,
    is_read: impl Fn(&str) -> bool,
) -> Result<()> {
    let raw = decompressed(block, room.0)?;
    let mut bytes = ByteReader(&raw);
    let reasons: Vec<String> = from_json("reasons", str::from_utf8(taken(&mut bytes)?)?)?;
    let samples = taken(&mut bytes)?;
    room.take_samples(packed::count(samples)?, [answers, &reasons])?;
    cell.samples = packed::unpack(answers, &reasons, samples)?;
    while !bytes.0.is_empty() {
        let name = str::from_utf8(taken(&mut bytes)?)?;
        let values = taken(&mut bytes)?;
        if is_read(name) {
            room.take(cell.samples.len(), size_of::<f64>())?;
            let values = packed::unpack_values(&restored(values), cell.samples.len())?;
            cell.values.insert(name.to_owned(), values);
        }
    }
    Ok(())
}

fn compressed(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
    // Without it, damage may be decompressed to other values.
    compressor.include_checksum(true)?;
    Ok(compressor.compress(bytes)?)
}

fn decompressed(bytes: &[u8], size_max: usize) -> Result<Vec<u8>> {
    let size = zstd::zstd_safe::get_frame_content_size(bytes).ok().flatten();
    let size = size.and_then(|size| usize::try_from(size).ok()).context("its data is damaged")?;
    ensure!(size <= size_max, "its data is damaged: it claims to have {size} bytes");
    zstd::bulk::decompress(bytes, size).context("its data is damaged")
}

fn put(raw: &mut Vec<u8>, bytes: &[u8]) {
    raw.extend((bytes.len() as u64).to_le_bytes());
    raw.extend(bytes);
}

fn taken<'a>(bytes: &mut ByteReader<'a>) -> Result<&'a [u8]> {
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
    use crate::tests::suite::{new_run, new_sample, new_values};

    fn cell(rounds: u32) -> Cell {
        let mut cell = new_run("packed").cells.swap_remove(0);
        (0..rounds).for_each(|round| cell.push(new_sample(round, 0), &new_values(round)));
        cell
    }

    fn read(cell: &Cell, block: &[u8]) -> Result<Cell> {
        read_with(&answers_of(cell), cell, block)
    }

    fn answers_of(cell: &Cell) -> Vec<String> {
        from_json("answers", &block_of(cell).unwrap().0).unwrap()
    }

    fn read_with(answers: &[String], cell: &Cell, block: &[u8]) -> Result<Cell> {
        let mut back = without_samples(cell);
        read_block(&mut back, answers, block, &mut MemoryBudget::new(), |_| true)?;
        Ok(back)
    }

    fn block_of(cell: &Cell) -> Result<(String, Vec<u8>)> {
        super::block(cell, &mut MemoryBudget::new())
    }

    /// Samples that are all the same, in few bytes, with values of these metrics.
    fn bomb(n: usize, metrics: usize) -> Vec<u8> {
        let mut raw = Vec::new();
        put(&mut raw, b"[]");
        let mut data = (n as u64).to_le_bytes().to_vec();
        data.resize(8 + n, 0);
        for width in [4, 4, 4, 8, 8, 4, 4] {
            data.resize(data.len() + 1 + width, 0);
        }
        put(&mut raw, &data);
        for metric in 0..metrics {
            put(&mut raw, metric.to_string().as_bytes());
            put(&mut raw, &[0; 9]);
        }
        compressed(&raw).unwrap()
    }

    #[test]
    fn a_small_block_does_not_become_much_memory() {
        let read = |block: &[u8], answers: &[String]| {
            let mut back = without_samples(&cell(0));
            read_block(&mut back, answers, block, &mut MemoryBudget::new(), |_| true).map(|()| back)
        };
        assert_eq!(read(&bomb(1000, 3), &[]).unwrap().samples.len(), 1000);
        let long = ["a".repeat(1 << 20)];
        for (block, answers) in
            [(bomb(50_000_000, 0), &[][..]), (bomb(100_000, 2000), &[]), (bomb(2000, 0), &long)]
        {
            assert!(block.len() < 100_000);
            let error = format!("{:#}", read(&block, answers).unwrap_err());
            assert!(error.contains("take more than 1073741824 bytes"), "{error}");
        }
    }

    #[test]
    fn a_cell_comes_back() {
        for rounds in [0, 1, 2, 100] {
            let cell = cell(rounds);
            assert_eq!(read(&cell, &block_of(&cell).unwrap().1).unwrap(), cell);
        }
    }

    #[test]
    fn only_the_metrics_that_are_wanted_are_read() {
        let cell = cell(3);
        let (answers, block) = block_of(&cell).unwrap();
        let answers: Vec<String> = from_json("answers", &answers).unwrap();
        let mut back = without_samples(&cell);
        read_block(&mut back, &answers, &block, &mut MemoryBudget::new(), |name| name == "cpu_ns")
            .unwrap();
        assert_eq!(back.values.keys().collect::<Vec<_>>(), ["cpu_ns"]);
        assert_eq!(back.samples, cell.samples);
    }

    #[test]
    fn a_flipped_bit_changes_no_block_unseen() {
        let cell = cell(100);
        let (_, block) = block_of(&cell).unwrap();
        // They are made by packing the cell, which takes much longer than reading it.
        let answers = answers_of(&cell);
        for bit in 0..8 * block.len() {
            let mut damaged = block.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            if let Ok(back) = read_with(&answers, &cell, &damaged) {
                assert_eq!(back, cell, "bit {bit}");
            }
        }
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
            let mut damaged = block_of(&cell).unwrap().1;
            let len = damaged.len();
            damaged[at % len] = byte;
            damaged.truncate(len - cut % 3);
            let _ = read(&cell, &damaged);
            let _ = read(&cell, &compressed(&raw).unwrap());
        }
    }
}
