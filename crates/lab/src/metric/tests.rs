use super::*;
use crate::counters::Reading;
use crate::protocol::Done;

/// Of a sample of two operations whose process was at rest after it, or still on a CPU.
fn value(name: &str, at_rest: bool) -> Option<f64> {
    let done = Done { n: 1, wall_ns: 1000, ops: 2, bytes: 10, ..Done::default() };
    let used = Reading {
        cpu_ns: Some(600),
        run_queue_wait_ns: Some(30),
        minor_faults: Some(4),
        at_rest,
        ..Reading::default()
    };
    let taken = Taken { done, used, ..Taken::default() };
    values(&taken).into_iter().find(|(known, _)| *known == name).map(|(_, value)| value)
}

#[test]
fn the_cpu_time_of_a_process_that_is_still_on_a_cpu_is_not_known() {
    assert_eq!(value("cpu_ns", true), Some(300.0));
    assert_eq!(value("cpu_ns", false), None);
    for at_rest in [true, false] {
        assert_eq!(value("wall_ns", at_rest), Some(500.0));
        assert_eq!(value("run_queue_wait_ns", at_rest), Some(15.0));
        assert_eq!(value("minor_faults", at_rest), Some(2.0));
        assert_eq!(value("throughput_bytes_per_s", at_rest), Some(1e7));
        assert_eq!(value("major_faults", at_rest), None);
    }
}
