//! Copies chosen rows into row groups of the outputs, as many at once as fit into memory: one
//! column after the other. The columns of large row groups are read by several threads, and written
//! in order by one.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::mem;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::ColumnPath;

use super::sources::{ParquetFile, ParquetFiles, RowGroup, contained, malformed, too_short};
use crate::work::{available, start};
use crate::{Error, Result};

/// The number of chosen rows that are gathered; the values of one column at a time are in memory.
const GATHERED: usize = 1 << 17;

/// The result of a copy.
pub(super) struct CopiedRows {
    /// The rows of each output.
    pub(super) taken: Vec<u64>,
    /// The number of row groups that hold a chosen row.
    pub(super) groups: usize,
}

/// Copies the rows with these ascending ranks, each to the output with this index.
pub(super) fn copy(
    sources: &ParquetFiles<'_>,
    writers: Vec<Writer<'_, '_>>,
    rows: impl Iterator<Item = (u64, usize)>,
) -> Result<CopiedRows> {
    let (outputs, mut rows) = (writers.len(), rows.peekable());
    let mut gathered = GatheredRows { writers, chosen: Vec::new(), counts: vec![0; outputs] };
    let mut copied = CopiedRows { taken: vec![0; outputs], groups: 0 };
    for group in sources.groups() {
        let end = group.base + group.rows;
        copied.groups += usize::from(rows.peek().is_some_and(|(rank, _)| *rank < end));
        while let Some((rank, output)) = rows.next_if(|(rank, _)| *rank < end) {
            copied.taken[output] += 1;
            gathered.add(&group, rank - group.base, output);
            if gathered.counts.iter().sum::<usize>() == GATHERED {
                gathered.write(sources, (GATHERED / 8 / outputs).max(1))?;
            }
        }
    }
    gathered.write(sources, 1)?;
    for writer in gathered.writers {
        contained(|| writer.close()).map_err(failed)?;
    }
    Ok(copied)
}

struct GatheredRows<'a, 'b> {
    writers: Vec<Writer<'a, 'b>>,
    chosen: Vec<ChosenRows>,
    /// The number of gathered rows of each output.
    counts: Vec<usize>,
}

impl GatheredRows<'_, '_> {
    fn add(&mut self, group: &RowGroup, row: u64, output: usize) {
        self.counts[output] += 1;
        let (file, number) = (group.file, group.number);
        match self.chosen.last_mut() {
            Some(last) if (last.file, last.group) == (file, number) => {
                last.rows.push((row, output));
            }
            _ => self.chosen.push(ChosenRows { file, group: number, rows: vec![(row, output)] }),
        }
    }

    /// Writes a row group to each output that has at least this many rows. The others wait, so that
    /// an output with a small share does not get only small row groups; pages may be read again for
    /// their rows.
    fn write(&mut self, sources: &ParquetFiles<'_>, least: usize) -> Result<()> {
        let is_due: Vec<bool> = self.counts.iter().map(|count| *count >= least).collect();
        if !is_due.contains(&true) {
            return Ok(());
        }
        let mut due = Vec::new();
        for ChosenRows { file, group, rows } in mem::take(&mut self.chosen) {
            let (now, later): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| is_due[row.1]);
            for (rows, list) in [(now, &mut due), (later, &mut self.chosen)] {
                if !rows.is_empty() {
                    list.push(ChosenRows { file, group, rows });
                }
            }
        }
        write_columns(&mut self.writers, sources, &due, &is_due)?;
        for (count, is_due) in self.counts.iter_mut().zip(is_due) {
            *count = if is_due { 0 } else { *count };
        }
        Ok(())
    }
}

/// The number of values and levels that are held before they are written.
const HELD: usize = 4096;

/// Chosen rows of a row group, ascending, each with the index of its output.
pub(super) struct ChosenRows {
    pub(super) file: usize,
    pub(super) group: usize,
    pub(super) rows: Vec<(u64, usize)>,
}

/// The column that is being written, for each output that gets some of these rows.
type Columns<'a> = [Option<SerializedColumnWriter<'a>>];

/// Writes a row group of these rows to each output that is due. Each page is read once for all of
/// them.
fn write_columns(
    writers: &mut [Writer<'_, '_>],
    sources: &ParquetFiles<'_>,
    chosen: &[ChosenRows],
    is_due: &[bool],
) -> Result<()> {
    let due = writers.iter_mut().zip(is_due);
    let groups = due
        .map(|(writer, is_due)| is_due.then(|| contained(|| writer.next_row_group())).transpose());
    let mut groups = groups.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let (files, number_of_columns) = (sources.files(), sources.schema().num_columns());
    let read = |task: usize| -> Result<HeldBatches, ParquetError> {
        let (number, chosen) = (task / chosen.len(), &chosen[task % chosen.len()]);
        let mut held = HeldBatches::default();
        let reader = files[chosen.file].reader(chosen.group, number)?;
        pass_any(reader, &chosen.rows, &mut held)?;
        Ok(held)
    };
    let threads = threads_for(files, chosen);
    let (jobs, taken) = sync_channel(2 * threads);
    let taken = Mutex::new(taken);
    let written: Result<()> = thread::scope(|scope| {
        let wanted = if threads > 1 { threads } else { 0 };
        let started = (0..wanted).map_while(|_| start(scope, || work(&taken, &read))).count();
        let tasks = 0..number_of_columns * chosen.len();
        let mut queue = (started > 0).then(|| ColumnQueue {
            jobs,
            tasks,
            open: VecDeque::new(),
            most_open: 2 * started,
        });
        for number in 0..number_of_columns {
            let columns = groups.iter_mut().map(|group| match group {
                Some(group) => contained(|| group.next_column()),
                None => Ok(None),
            });
            let mut columns = columns.collect::<Result<Vec<_>, _>>().map_err(failed)?;
            for chosen in chosen {
                let copied = match &mut queue {
                    Some(queue) => queue.next().and_then(|held| held.write(&mut columns)),
                    None => files[chosen.file]
                        .reader(chosen.group, number)
                        .and_then(|reader| pass_any(reader, &chosen.rows, &mut columns[..])),
                };
                copied.map_err(|error| sources.explain(chosen.file, &error))?;
            }
            for column in columns.into_iter().flatten() {
                contained(|| column.close()).map_err(failed)?;
            }
        }
        Ok(())
    });
    written?;
    for group in groups.into_iter().flatten() {
        contained(|| group.close()).map_err(failed)?;
    }
    Ok(())
}

// Columns that are read by several threads, whose values are held until it is their turn.

/// Fewer bytes are read by one thread, as it takes time to start others.
const LEAST_SHARED_BYTES: u64 = if cfg!(test) { 1 } else { 8 << 20 };
/// More values are not held: one thread reads and writes them, some at a time.
const MOST_HELD_BYTES: u64 = 32 << 20;
const MOST_THREADS: usize = 8;

/// The number of threads that read the columns of these rows.
fn threads_for(files: &[ParquetFile], chosen: &[ChosenRows]) -> usize {
    let (mut stored_bytes, mut held_bytes) = (0u64, 0u64);
    for ChosenRows { file, group, rows } in chosen {
        let group = files[*file].metadata.row_group(*group);
        let [stored, values, all_rows] =
            [group.compressed_size(), group.total_byte_size(), group.num_rows()]
                .map(|n| u64::try_from(n).unwrap_or(0));
        let share = u128::from(values) * rows.len() as u128 / u128::from(all_rows.max(1));
        stored_bytes = stored_bytes.saturating_add(stored);
        held_bytes = held_bytes.saturating_add(share.try_into().unwrap_or(u64::MAX));
    }
    let is_shared = stored_bytes >= LEAST_SHARED_BYTES && held_bytes <= MOST_HELD_BYTES;
    if is_shared { available(MOST_THREADS) } else { 1 }
}

/// The column of chosen rows that is to be read: the columns of all of them are numbered.
struct ColumnJob {
    task: usize,
    done: SyncSender<Result<HeldBatches, ParquetError>>,
}

/// Distributes the columns, and returns what was read in their order.
struct ColumnQueue {
    jobs: SyncSender<ColumnJob>,
    /// Those that are not distributed yet.
    tasks: std::ops::Range<usize>,
    open: VecDeque<Receiver<Result<HeldBatches, ParquetError>>>,
    most_open: usize,
}

impl ColumnQueue {
    fn next(&mut self) -> Result<HeldBatches, ParquetError> {
        // Only after a panic, which is propagated.
        let lost = || ParquetError::General("a thread is gone".to_owned());
        while self.open.len() < self.most_open
            && let Some(task) = self.tasks.next()
        {
            let (done, receiver) = sync_channel(1);
            self.jobs.send(ColumnJob { task, done }).map_err(|_| lost())?;
            self.open.push_back(receiver);
        }
        let first = self.open.pop_front().ok_or_else(lost)?;
        first.recv().unwrap_or_else(|_| Err(lost()))
    }
}

/// Reads columns until the queue is gone.
fn work(
    jobs: &Mutex<Receiver<ColumnJob>>,
    read: &(dyn Fn(usize) -> Result<HeldBatches, ParquetError> + Sync),
) {
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(ColumnJob { task, done }) = job else { return };
        // The receiver is gone if the work was cancelled.
        let _ = done.send(read(task));
    }
}

/// Takes the values of chosen rows, in batches.
trait BatchSink {
    /// Takes the values of the output with this index, and may leave them in the batch.
    fn take<T: DataType>(
        &mut self,
        output: usize,
        batch: &mut ValueBatch<T>,
    ) -> Result<(), ParquetError>;
}

/// Writes them.
impl BatchSink for Columns<'_> {
    fn take<T: DataType>(
        &mut self,
        output: usize,
        batch: &mut ValueBatch<T>,
    ) -> Result<(), ParquetError> {
        batch.write(output, self)
    }
}

type HeldBatch = Box<dyn FnOnce(&mut Columns<'_>) -> Result<(), ParquetError> + Send>;

/// Holds them, of whatever type they are.
#[derive(Default)]
struct HeldBatches(Vec<HeldBatch>);

impl BatchSink for HeldBatches {
    fn take<T: DataType>(
        &mut self,
        output: usize,
        batch: &mut ValueBatch<T>,
    ) -> Result<(), ParquetError> {
        let batch = mem::take(batch);
        self.0.push(Box::new(move |columns: &mut Columns<'_>| batch.write(output, columns)));
        Ok(())
    }
}

impl HeldBatches {
    fn write(self, columns: &mut Columns<'_>) -> Result<(), ParquetError> {
        self.0.into_iter().try_for_each(|write| write(columns))
    }
}

/// Passes on the values of these rows.
fn pass_any<S: BatchSink + ?Sized>(
    reader: ColumnReader,
    rows: &[(u64, usize)],
    sink: &mut S,
) -> Result<(), ParquetError> {
    use ColumnReader as R;
    match reader {
        R::BoolColumnReader(reader) => pass_column(reader, rows, sink, |_| {}),
        R::Int32ColumnReader(reader) => pass_column(reader, rows, sink, |_| {}),
        R::Int64ColumnReader(reader) => pass_column(reader, rows, sink, |_| {}),
        R::Int96ColumnReader(reader) => pass_column(reader, rows, sink, |_| {}),
        R::FloatColumnReader(reader) => pass_column(reader, rows, sink, |_| {}),
        R::DoubleColumnReader(reader) => pass_column(reader, rows, sink, |_| {}),
        R::ByteArrayColumnReader(reader) => pass_column(reader, rows, sink, detach),
        R::FixedLenByteArrayColumnReader(reader) => {
            pass_column(reader, rows, sink, |value| detach(value))
        }
    }
}

/// A value refers to its page, which would stay in memory as long as the value does: in the
/// dictionary of the writer, that is to the end of the row group.
fn detach(value: &mut ByteArray) {
    *value = ByteArray::from(value.data());
}

/// Passes on the rows with their levels.
fn pass_column<T: DataType, S: BatchSink + ?Sized>(
    mut reader: ColumnReaderImpl<T>,
    rows: &[(u64, usize)],
    sink: &mut S,
    detach: fn(&mut T::T),
) -> Result<(), ParquetError> {
    let outputs = rows.iter().map(|(_, output)| output + 1).max().unwrap_or(0);
    let mut pending: Vec<ValueBatch<T>> = (0..outputs).map(|_| ValueBatch::default()).collect();
    let mut at = 0;
    for run in rows.chunk_by(|a, b| a.0 + 1 == b.0 && a.1 == b.1) {
        let (first, output) = run[0];
        let batch = &mut pending[output];
        let gap = (first - at) as usize;
        if contained(|| reader.skip_records(gap))? != gap {
            return Err(too_short(first));
        }
        let mut left = run.len();
        while left > 0 {
            let read = batch.read(&mut reader, left.min(HELD), detach)?;
            if read == 0 {
                return Err(too_short(first));
            }
            left -= read;
            if batch.len() >= HELD {
                sink.take(output, batch)?;
                batch.clear();
            }
        }
        at = first + run.len() as u64;
    }
    for (output, batch) in pending.iter_mut().enumerate().filter(|(_, batch)| batch.len() > 0) {
        sink.take(output, batch)?;
    }
    Ok(())
}

/// Values of one output that are not written yet.
struct ValueBatch<T: DataType> {
    values: Vec<T::T>,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

impl<T: DataType> Default for ValueBatch<T> {
    fn default() -> ValueBatch<T> {
        ValueBatch { values: Vec::new(), definitions: Vec::new(), repetitions: Vec::new() }
    }
}

impl<T: DataType> ValueBatch<T> {
    /// The number of values or levels.
    fn len(&self) -> usize {
        self.values.len().max(self.definitions.len())
    }

    fn clear(&mut self) {
        self.values.clear();
        self.definitions.clear();
        self.repetitions.clear();
    }

    /// Takes the next rows and returns how many there were.
    fn read(
        &mut self,
        reader: &mut ColumnReaderImpl<T>,
        rows: usize,
        detach: fn(&mut T::T),
    ) -> Result<usize, ParquetError> {
        let held = self.values.len();
        let (definitions, repetitions) = (&mut self.definitions, &mut self.repetitions);
        let (read, ..) = contained(|| {
            reader.read_records(rows, Some(definitions), Some(repetitions), &mut self.values)
        })?;
        self.values.iter_mut().skip(held).for_each(detach);
        Ok(read)
    }

    /// Writes the values to the column of the output with this index.
    fn write(&self, output: usize, columns: &mut Columns<'_>) -> Result<(), ParquetError> {
        let column = columns.get_mut(output).and_then(Option::as_mut);
        let writer = column.and_then(|column| T::get_column_writer_mut(column.untyped()));
        let writer = writer.ok_or_else(|| {
            ParquetError::General("a column of another type than its schema".to_owned())
        })?;
        let column = writer.get_descriptor();
        let (has_definitions, has_repetitions) =
            (column.max_def_level() > 0, column.max_rep_level() > 0);
        let definitions = has_definitions.then_some(self.definitions.as_slice());
        let repetitions = has_repetitions.then_some(self.repetitions.as_slice());
        contained(|| writer.write_batch(&self.values, definitions, repetitions)).map(drop)
    }
}

pub(super) type Writer<'a, 'b> = SerializedFileWriter<&'a mut Destination<'b>>;

/// Keeps the error of the writer, which the library converts to text.
pub(super) struct Destination<'a> {
    pub(super) out: &'a mut (dyn Write + Send),
    pub(super) error: Option<io::Error>,
}

/// A writer with the schema of the sources for each destination.
pub(super) fn writers<'a, 'b>(
    sources: &ParquetFiles<'_>,
    destinations: &'a mut [Destination<'b>],
) -> Result<Vec<Writer<'a, 'b>>> {
    let properties = Arc::new(properties(sources.first()));
    let schema = sources.schema().root_schema_ptr();
    let writer = |destination| {
        let made = contained(|| {
            SerializedFileWriter::new(destination, schema.clone(), properties.clone())
        });
        made.map_err(failed)
    };
    destinations.iter_mut().map(writer).collect()
}

/// The codec of each column in the first row group, and the metadata of the file.
fn properties(metadata: &ParquetMetaData) -> WriterProperties {
    let notes = metadata.file_metadata().key_value_metadata().cloned();
    let mut properties = WriterProperties::builder().set_key_value_metadata(notes);
    let first = metadata.row_groups().first();
    for column in first.map(RowGroupMetaData::columns).unwrap_or_default() {
        let path = ColumnPath::new(column.column_path().parts().to_vec());
        properties = properties.set_column_compression(path, column.compression());
    }
    properties.build()
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
pub(super) fn failed(error: ParquetError) -> Error {
    malformed(&format!("making the sample: {error}"))
}

impl Write for Destination<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.out.write(bytes);
        result.map_err(|error| self.keep(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.out.flush();
        result.map_err(|error| self.keep(error))
    }
}

impl Destination<'_> {
    fn keep(&mut self, error: io::Error) -> io::Error {
        let kind = error.kind();
        if kind != io::ErrorKind::Interrupted {
            self.error = Some(error);
        }
        kind.into()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use parquet::data_type::{ByteArrayType, Int64Type};
    use parquet::schema::parser::parse_message_type;

    use super::*;
    use crate::Sampler;
    use crate::work::without_threads;

    /// Three row groups of 5000 rows, with a number and in two of three rows a text.
    fn file() -> Vec<u8> {
        let schema = "message row { required int64 id; optional binary name (UTF8); }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let mut bytes = Vec::new();
        let properties = Arc::new(WriterProperties::builder().build());
        let mut writer = SerializedFileWriter::new(&mut bytes, schema, properties).unwrap();
        for ids in [0..5000, 5000..10_000, 10_000..15_000] {
            let mut group = writer.next_row_group().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            let values: Vec<i64> = ids.clone().collect();
            column.typed::<Int64Type>().write_batch(&values, None, None).unwrap();
            column.close().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            let levels: Vec<i16> = ids.clone().map(|id| i16::from(id % 3 > 0)).collect();
            let named = ids.filter(|id| id % 3 > 0).map(|id| format!("the name of {id}"));
            let names: Vec<ByteArray> = named.map(|name| ByteArray::from(&*name)).collect();
            column.typed::<ByteArrayType>().write_batch(&names, Some(&levels), None).unwrap();
            column.close().unwrap();
            group.close().unwrap();
        }
        writer.close().unwrap();
        bytes
    }

    #[test]
    fn several_threads_write_the_same_bytes_as_one() {
        let source = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(source.path(), file()).unwrap();
        let samplers = [Sampler::exactly(500), Sampler::probability(0.9), Sampler::at_most(99_999)];
        for sampler in samplers {
            let draw = || {
                let mut out = Vec::new();
                sampler.write_parquet([source.path()], &mut out).unwrap();
                out
            };
            assert!(draw() == without_threads(draw));
        }
        let sampler = Sampler::probability(1.0);
        let split = || {
            let (mut first, mut second) = (Vec::new(), Vec::new());
            let outs: &mut [&mut (dyn Write + Send)] = &mut [&mut first, &mut second];
            sampler.split_parquet([source.path()], &[0.8, 0.2], outs).unwrap();
            (first, second)
        };
        assert!(split() == without_threads(split));
    }

    #[test]
    fn a_value_does_not_keep_its_page() {
        let page = Bytes::from(vec![7; 1000]);
        let mut value = ByteArray::from(page.slice(10..15));
        assert!(!page.is_unique());
        detach(&mut value);
        assert_eq!((page.is_unique(), value.data()), (true, &[7u8; 5][..]));
    }
}
