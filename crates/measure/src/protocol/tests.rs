//! Lines of the protocol, as text and as values.

use proptest::prelude::*;

use super::*;

fn check(line: &str, expected: Result<Reply, &str>) {
    assert_eq!(Reply::parse(line), expected.map_err(str::to_owned), "{line}");
}

#[test]
fn the_lines_of_the_design_are_understood() {
    check(
        "hello 1 name=mmap lang=rust\n",
        Ok(Reply::Hello { name: "mmap".into(), language: Some("rust".into()) }),
    );
    check("ready", Ok(Reply::Ready { digest: None }));
    let done = Done {
        n: 17,
        wall_ns: 123_456,
        ops: 1,
        bytes: 134_217_728,
        answer: Some("9f1c".into()),
        metrics: vec![("create_ns".into(), 1.5)],
        totals: None,
    };
    check(
        "done 17 wall=123456 ops=1 bytes=134217728 answer=9f1c create_ns=1.5\r\n",
        Ok(Reply::Done(done)),
    );
    let totals = Totals {
        cpu_ns: 9,
        main_thread_cpu_ns: 8,
        device_read_bytes: 4096,
        device_write_bytes: 512,
        minor_faults_of_children: 7,
    };
    let done = Done { n: 1, wall_ns: 2, ops: 1, totals: Some(totals), ..Done::default() };
    check("done 1 wall=2 process-totals=9,8,4096,512,7", Ok(Reply::Done(done)));
    let mark = |name: &str, at_ns| Ok(Reply::Mark(PhaseMark { name: name.into(), at_ns }));
    check("mark zeroing at=17", mark("zeroing", Some(17)));
    check("mark first%20touch\n", mark("first touch", None));
    check("skip no io_uring here", Ok(Reply::Skip("no io_uring here".into())));
    check("fail 50 % is too much%0Atwo", Ok(Reply::Fail("50 % is too much\ntwo".into())));
    assert_eq!(
        Order::parse("prepare size=134217728 file=/path/with%20escapes").unwrap(),
        Order::Prepare(vec![
            ("size".into(), "134217728".into()),
            ("file".into(), "/path/with escapes".into())
        ])
    );
    let go = |ops: u64, marked: bool| Order::Go { n: 17, ops, marked };
    for (line, order) in [
        ("go 17\n", go(1, false)),
        ("go 17 ops=5\n", go(5, false)),
        ("go 17 marks=yes\n", go(1, true)),
        ("go 17 ops=5 marks=yes\n", go(5, true)),
        ("bye\n", Order::Bye),
    ] {
        assert_eq!(Order::parse(line), Ok(order.clone()));
        assert_eq!(order.to_string(), line);
    }
}

#[test]
fn rubbish_is_named() {
    check("", Err("unknown line \"\""));
    check("hello 2 name=x", Err("speaks protocol \"2\", not 1"));
    check("done 1", Err("a done line without wall="));
    check("done 1 wall=1 wall=2", Err("wall= twice in a done line"));
    check("done 1 wall=1 x=1 x=1", Err("x= twice in a done line"));
    check("mark", Err("a mark line without a name"));
    check("mark x at=soon", Err("at \"soon\" is not a whole number"));
    check("done x wall=1", Err("done \"x\" is not a whole number"));
    check("done 1 wall=-5", Err("wall \"-5\" is not a whole number"));
    check("done 1 wall=1 ops=0", Err("ops=0 in a done line"));
    for totals in ["", "1,2,3,4", "1,2,3,4,5,6", "1,2,3,4,-5", "1,2,3,4,x"] {
        let line = format!("done 1 wall=1 process-totals={totals}");
        check(&line, Err(&format!("process-totals={totals:?} is not five whole numbers")));
    }
    check("done 1 wall=1 x=nan", Err("x=\"nan\" is not a number"));
    check("done 1 wall=1 Bad=1", Err("the metric name \"Bad\" is not of a-z, 0-9 and _"));
    check("done 1 wall=1 word", Err("\"word\" is not name=value"));
    check("ready digest=%FF", Err("\"%FF\" is not UTF-8"));
    assert_eq!(Order::parse("stay\n"), Err("unknown order \"stay\"".to_owned()));
}

#[test]
fn a_path_that_is_not_utf_8_reaches_the_worker_as_it_is() {
    let mut point = Point::default();
    point.set("file", "/a\u{10ffff} b");
    let order = Order::prepare(&point);
    assert_eq!(order.to_string(), "prepare file=/a%FF%20b\n");
    assert_eq!(Order::parse("prepare file=/a%FF%20b\n"), Ok(order));
}

proptest! {
    #[test]
    fn any_value_survives_escaping(text in ".*") {
        let escaped = escape(&text);
        prop_assert!(escaped.bytes().all(|b| b.is_ascii_graphic()));
        prop_assert_eq!(unescape(&escaped).unwrap(), text);
    }

    #[test]
    fn a_reply_is_read_as_it_was_written(n: u64, wall_ns: u64, answer in ".{0,20}", x in -1e18..1e18f64) {
        let metrics = vec![("x_ns".into(), x)];
        let totals = Some(Totals { cpu_ns: n, device_write_bytes: wall_ns, ..Totals::default() });
        let done = Done { n, wall_ns, ops: 3, bytes: 4, answer: Some(answer), metrics, totals };
        prop_assert_eq!(Reply::parse(&Reply::Done(done.clone()).to_string()).unwrap(), Reply::Done(done));
    }

    #[test]
    fn no_line_panics(line in ".*", verb in "(go|done|hello|mark|prepare|ready|skip|fail) ") {
        let _ = Reply::parse(&line);
        let _ = Reply::parse(&format!("{verb}{line}"));
        let _ = Order::parse(&format!("{verb}{line}"));
    }
}
