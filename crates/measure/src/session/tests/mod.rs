mod played;

use std::cell::RefCell;
use std::rc::Rc;

use model::param::Point;

use super::preparing::{StartedRunner, start_each, times_as_many};
use super::*;
use crate::experiment::Data;
use crate::launch::{Child, RawSample, Ready};
use crate::session::preparing::{Batch, shared_ops};

/// The result for a file of 1000 bytes of which `payload_bytes` are delivered, if that is known.
fn disproved(
    cache: CacheState,
    read_bytes: impl Into<Option<u64>>,
    payload_bytes: impl Into<Option<u64>>,
    bypasses_cache: bool,
) -> String {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, &[7; 1000]).unwrap();
    let (files, payload_bytes) = (vec![file.path().to_owned()], payload_bytes.into());
    let data = Data { files, payload_bytes, ..Data::default() };
    let mut taken = RawSample::default();
    taken.used[Counter::DeviceReadBytes] = read_bytes.into();
    disproved_by_device(cache, &taken, &data, bypasses_cache).unwrap_or_default()
}

#[test]
fn a_warm_sample_that_the_device_served_does_not_count() {
    let check = |read_bytes: Option<u64>, bypasses_cache, expected: &str| {
        assert_eq!(disproved(CacheState::Warm, read_bytes, 1000, bypasses_cache), expected);
    };
    check(Some(0), false, "");
    check(Some(1), false, "not warm: 1 bytes came from the device");
    check(Some(4096), false, "not warm: 4096 bytes came from the device");
    check(Some(4096), true, "");
    check(None, false, "");
}

#[test]
fn a_cold_sample_that_the_cache_served_does_not_count() {
    let check = |read_bytes: Option<u64>, payload_bytes: Option<u64>, expected: &str| {
        let said = disproved(CacheState::Cold, read_bytes, payload_bytes, false);
        assert_eq!(said.split(" (").next().unwrap(), expected, "{read_bytes:?} {payload_bytes:?}");
    };
    check(Some(1000), Some(1000), "");
    // A fiftieth may be missing.
    check(Some(980), Some(1000), "");
    check(Some(979), Some(1000), "not cold: 979 of 1000 bytes came from the device");
    check(Some(0), Some(1000), "not cold: 0 of 1000 bytes came from the device");
    // No more than the job delivers, or than the files contain.
    check(Some(98), Some(100), "");
    check(Some(97), Some(100), "not cold: 97 of 100 bytes came from the device");
    check(Some(979), Some(5000), "not cold: 979 of 1000 bytes came from the device");
    // If that is not known, any number.
    check(Some(1), None, "");
    check(Some(0), None, "not cold: 0 of 1 bytes came from the device");
    check(None, Some(1000), "");
}

#[test]
fn as_is_nothing_is_disproved() {
    for read_bytes in [None, Some(0), Some(1000)] {
        assert_eq!(disproved(CacheState::AsIs, read_bytes, 1000, false), "");
    }
}

#[test]
fn operations_are_batched_only_where_one_is_too_short_for_the_clock() {
    let batch = |point, ops, op_ns| Batch { cell: 0, point, ops, op_ns, yardstick: false };
    let shared = |batches: &[Batch]| shared_ops(batches);
    // 1000 steps of a clock of 20 ns are 20 µs.
    assert_eq!(shared(&[batch(0, 84, 250), batch(0, 20, 1000), batch(0, 1, 30_000)]), [84, 84, 1]);
    // Methods of another point have no influence, nor has a yardstick, which may need more.
    let limit = Batch { yardstick: true, ..batch(0, 1000, 21) };
    let slow_limit = Batch { yardstick: true, ..batch(0, 4, 6000) };
    assert_eq!(
        shared(&[limit, slow_limit, batch(0, 20, 1000), batch(1, 50, 400)]),
        [1000, 20, 20, 50]
    );
    // The number is limited so that no sample takes more than 10 ms.
    assert_eq!(shared(&[batch(0, 10_000, 2), batch(0, 2, 15_000)]), [10_000, 666]);
}

#[test]
fn a_sample_that_is_too_short_gets_as_many_operations_as_it_lacks() {
    assert_eq!(times_as_many(100, 20_000), 250);
    assert_eq!(times_as_many(99, 20_000), 253);
    // At least twice, and at most a thousand times as many.
    assert_eq!(times_as_many(19_999, 20_000), 2);
    assert_eq!([0, 7].map(|sample_ns| times_as_many(sample_ns, 20_000)), [1000; 2]);
}

#[test]
fn a_payload_that_no_count_can_hold_is_wrong_too() {
    let cell = Cell::new("x", Point::default());
    let data = Data { payload_bytes: Some(1 << 40), ..Data::default() };
    let check = |ops, bytes, expected: Option<&str>| {
        let mut taken = RawSample::default();
        (taken.done.ops, taken.done.bytes) = (ops, bytes);
        let wrong = wrong_payload(&cell, &data, &taken);
        assert_eq!(wrong, expected.map(|why| RunError::Failed(why.to_owned())));
    };
    check(2, 2 << 40, None);
    check(2, 1 << 40, Some("handed over 1099511627776 bytes instead of 2199023255552"));
    check(1 << 40, 0, Some("handed over 0 bytes instead of 1208925819614629174706176"));
}

/// How many processes are starting, and the most that ever were.
#[derive(Default)]
struct Starting {
    now: usize,
    most: usize,
}

struct SlowStart(Rc<RefCell<Starting>>);

impl Child for SlowStart {
    fn prepare(&mut self, _: &Point) -> Result<Ready, RunError> {
        unreachable!("it is only started")
    }

    fn missing(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

impl Runner for SlowStart {
    fn started(&mut self) -> Result<(), RunError> {
        self.0.borrow_mut().now -= 1;
        Ok(())
    }

    fn go(&mut self, _: u64, _: u64) -> Result<RawSample, RunError> {
        unreachable!("it is only started")
    }

    fn has_died(&self) -> bool {
        false
    }
}

#[test]
fn no_more_processes_start_at_once_than_there_are_cpus() {
    let starting = Rc::new(RefCell::new(Starting::default()));
    let start = |cell: usize| -> StartedRunner {
        if cell == 3 {
            return Err(RunError::Skipped("is not there".into()));
        }
        let mut state = starting.borrow_mut();
        state.now += 1;
        state.most = state.most.max(state.now);
        Ok(Box::new(SlowStart(starting.clone())))
    };
    let started = start_each((0..100).rev().collect(), 2, start);
    let cells: Vec<usize> = started.iter().map(|(cell, _)| *cell).collect();
    assert!(cells.into_iter().eq((0..100).rev()));
    assert!(started.iter().all(|(cell, runner)| runner.is_err() == (*cell == 3)));
    let starting = starting.borrow();
    assert_eq!((starting.now, starting.most), (0, 2));
}
