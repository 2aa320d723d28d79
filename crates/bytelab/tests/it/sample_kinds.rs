//! What `bytelab sample` takes files for, as a user sees it: by their names, by their first bytes,
//! or as a flag says.

use crate::program::{World, fed};

const SEMICOLON: &str = "id;note\n1;\"first\nsecond\"\n2;plain\n3;\"x;y\nz\"\n";
const FASTQ: &str = "@r1\nACGT\n+\n@III\n@r2\nGG\n+\n++\n";

#[test]
fn names_show_what_files_are() {
    let world = World::new();
    let sample = |name: &str, text: &[u8], args: &[&str]| {
        let path = world.write(name, text);
        world.run(&[&["sample", &path], args].concat())
    };
    let csv = "\u{feff}id,note\n1,\"a\nb\"\n2,\"c\nd\"\n";
    let all = &csv[3..];
    for (name, text, args, expected) in [
        ("q.csv", csv, &["-n", "2"][..], all),
        ("q.csv", csv, &["-n", "2", "--header"], all),
        ("q.txt", csv, &["-n", "2", "-f", "csv"], all),
        ("q.csv", csv, &["-n", "3", "--no-header"], all),
        ("q.csv", csv, &["-n", "5", "-f", "lines"], csv),
        ("q.csv", csv, &["-n", "1", "-z"], &format!("{csv}\0")),
        ("r.fq", FASTQ, &["-n", "2"], FASTQ),
        ("r.fastq", FASTQ, &["-n", "8", "-f", "lines"], FASTQ),
        ("t.vcf", "##x\n#CHROM\n1\n2\n", &["-n", "2"], "##x\n#CHROM\n1\n2\n"),
        ("t.bed", "track a\nchr1\t1\t2\n", &["-n", "1"], "track a\nchr1\t1\t2\n"),
    ] {
        let ran = sample(name, text.as_bytes(), args);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{name} {args:?}");
        assert_eq!(ran.stdout, expected, "{name} {args:?}");
    }
    // The qualities of the first record begin as a record does.
    for seed in 0..20 {
        let ran = sample("r.fq", FASTQ.as_bytes(), &["-n", "1", "--seed", &seed.to_string()]);
        assert!(ran.stdout.starts_with("@r"), "{}", ran.stdout);
    }
}

#[test]
fn standard_input_is_lines_unless_a_format_is_named() {
    let world = World::new();
    let run = |args: &[&str], text: &str| {
        let output = fed(&mut world.command(&[&["sample"], args].concat()), text.as_bytes());
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let vcf = "##fileformat=VCFv4.2\n#CHROM\n1\n";
    assert_eq!(run(&["-n", "3"], vcf), (Some(0), vcf.to_owned(), String::new()));
    assert_eq!(run(&["-n", "1", "-f", "vcf"], vcf), (Some(0), vcf.to_owned(), String::new()));
    let note = "bytelab sample: note: the fields of - are separated by a semicolon, as its header \
                shows\n";
    let expected = (Some(0), SEMICOLON.to_owned(), note.to_owned());
    assert_eq!(run(&["-n", "3", "-f", "csv"], SEMICOLON), expected);
    let (code, out, error) = run(&["-n", "3", "--delimiter", ";"], SEMICOLON);
    assert_eq!((code, out.as_str(), error.as_str()), (Some(0), SEMICOLON, ""));
}

#[test]
fn what_the_content_shows_is_said_in_one_line() {
    let world = World::new();
    let vcf = "##fileformat=VCFv4.2\n#CHROM\n1\n2\n";
    let path = world.write("variants.txt", vcf);
    let ran = world.run(&["sample", &path, "-n", "2"]);
    let note = format!("bytelab sample: note: {path} begins as vcf does, and is read so\n");
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr), (0, vcf, note));
    let ran = world.run(&["sample", &path, "-n", "2", "-f", "vcf"]);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), (vcf, ""));
    let path = world.write("table.csv", SEMICOLON);
    let ran = world.run(&["sample", &path, "-n", "3"]);
    let note = format!(
        "bytelab sample: note: the fields of {path} are separated by a semicolon, as its header \
         shows\n"
    );
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr), (0, SEMICOLON, note));
    let ran = world.run(&["sample", &path, "--per", "id=1", "-d", ";"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, SEMICOLON, ""));
}

#[test]
fn what_would_give_false_records_is_an_error() {
    let world = World::new();
    let reads = "@r1\nACGT\nTTGC\n+\nIIII\nHHHH\n@r2\nGGCA\nCATT\n+\n@@@@\nJJJJ\n";
    let wide: Vec<u8> = "\u{feff}a,b\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (name, text, args, code, expected) in [
        ("reads.fq", reads.as_bytes(), &["-n", "1"][..], 1, "line 3 does not begin with +: "),
        ("short.fq", b"@r\nAC\n+\nF\n", &["-n", "1"], 1, "line 4 has 1 qualities for the 2 bases"),
        (
            "table.csv",
            SEMICOLON.as_bytes(),
            &["-n", "1", "-d", ","],
            1,
            "the quote at offset 10 follows a semicolon and is not closed in its line, but the \
             delimiter is a comma; --delimiter names another one",
        ),
        ("wide.csv", &wide, &["-n", "1"], 2, "pipe the output of `iconv -f UTF-16 -t UTF-8 FILE`"),
        ("wide", &wide, &["-n", "1", "-f", "lines"], 2, "`iconv -f UTF-16 -t UTF-8 FILE`"),
        ("a.arrow", b"ARROW1\0\0", &["-n", "1"], 2, "is Arrow, and not text in UTF-8: pipe"),
        ("a.avro", b"Obj\x01", &["-n", "1"], 2, "pipe the output of `fastavro FILE`"),
        ("a.zip", b"PK\x03\x04", &["-n", "1"], 2, "pipe the output of `unzip -p`"),
        #[cfg(not(feature = "parquet"))]
        ("a.parquet", b"PAR1\x15", &["-n", "1"], 2, "pipe the output of `duckdb -csv -c "),
        #[cfg(feature = "parquet")]
        ("a.parquet", b"PAR1\x15", &["-n", "1"], 1, "a.parquet: not a sound Parquet file"),
        ("plain.gz", b"text\n", &["-n", "1"], 1, "plain.gz: is named as gzip, and is not"),
        ("table.tsv", b"a\n", &["-n", "1", "-z", "-f", "tsv"], 2, "csv have a --delimiter"),
        ("a.vcf", b"#a\n1\n", &["-n", "1", "-d", ";"], 2, "only csv and tsv have a delimiter"),
    ] {
        let path = world.write(name, text);
        let ran = world.run(&[&["sample", &path, "--seed", "1"], args].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{name}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
    let [table, lines] = [world.write("b.csv", "a\n1\n"), world.write("b", "a\n1\n")];
    let expected = format!("{lines}: is lines, and {table} is csv: name the format of both");
    world.refused(&["sample", &table, &lines, "-n", "1"], &expected);
}
