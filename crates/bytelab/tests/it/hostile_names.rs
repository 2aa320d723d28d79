//! Names that would control a terminal, given to every command: no error and no note has them raw.

use std::fs;

use crate::program::World;

/// Clears the screen, sets a title, goes back, and writes from right to left.
const HOSTILE: &str = "a\u{1b}[2J\u{1b}]0;x\u{7}\r\u{9b}31m\u{202e}b";

/// A command a line; `@` stands for the name.
const COMMANDS: &str = "\
numbers --only @
run @
run @.toml
run reading --file @
run reading --size @
run reading -m @
run reading --language @
run reading --reference @
run reading --worker @=x --size 4KiB --rounds 1
run reading --trace @/x
run reading --data-dir @.data
run files --dir @
run published: @
run --resume @
bench -r 1 @
bench -r 1 -N @
bench -r 1 -n @ true
bench -r 1 -n @ false
bench -r 1 --prepare @ true
bench -r 1 --shell @ true
bench -r 1 --input @ true
bench -r 1 --output @/x true
bench -r 1 --export-json @/x true
bench -r 1 --cwd @ true
bench -r 1 --data @ true
bench -r 1 --metric @=x true
bench -r 1 --rev @ true
bench -L @ 1,2 true
list @
list @.toml
init @/x
init @.toml
fleece encode @
fleece encode @.data
fleece decode @.data
fleece check @.data @
fleece get @ @.data
fleece dump @.data
fleece stats @.data
cat @
cat http://127.0.0.1:1/@
cat -o @/x @.data
cat --sha256-file @.json @.data
cat --netrc-file @ http://127.0.0.1:1/@
sample -n 1 @
sample -n @ @.data
sample -n 1 --manifest @/x @.data
sample -n 1 -o @/x @.data
sample --per @=x --format csv @.data
history
history --label @
history --plot @
history --alert --label @
history --plot read --metric @
show latest
show @
compare 1 @
compare 1 @.json
compare 1 published: @
compare --label @ --machine @
check @.toml --against @.toml --allow wall=5%
check @.toml --against old=@,new=@ --allow wall=5%
check reading --against @ --allow wall=5%
check --baseline @@ --allow wall=5%
check --baseline 1 --allow @
baseline set @ 1
baseline list
baseline delete @ no-such
report @ -o x.html
report 1 -o @/x
report 1 --svg @.data
report 1 --svg svg --metric @
import @.json
import @.data
import @
export @@ --format csv
export 1 --format @
export 1 --format csv -o @/x
completions @
man @.data
label 1 @
label @ x
delete @
delete --older @
doctor --store @.json
self-test @
history --store @/x
history --store @.json";

fn steers(c: char) -> bool {
    c.is_control() && c != '\n' || c == '\u{202e}'
}

#[test]
fn no_command_prints_them_raw() {
    let world = World::new();
    let run = ["run", "reading", "--size", "4KiB", "--method", "read", "--rounds", "1"];
    let fast = ["--counting", "0", "--sessions", "1"];
    let ran = world.run(&[&run[..], &fast, &["--label", HOSTILE]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!format!("{}{}", ran.stdout, ran.stderr).contains(steers), "{}", ran.stdout);
    for (end, text) in [(".toml", "name = 3\n"), (".json", "{]"), (".data", "no Fleece\n")] {
        fs::write(world.path(&format!("{HOSTILE}{end}")), text).unwrap();
    }
    for line in COMMANDS.lines() {
        let line = line.replace('@', HOSTILE);
        let args: Vec<&str> = line.split(' ').collect();
        let output = world.command(&args).current_dir(world.dir.path()).output().unwrap();
        let [stdout, stderr] =
            [&output.stdout, &output.stderr].map(|text| String::from_utf8(text.clone()).unwrap());
        let printed = format!("{stdout}{stderr}");
        assert!(!printed.contains("panicked"), "{args:?}: {printed}");
        let line = printed.lines().find(|line| line.contains(steers));
        assert_eq!(line, None, "{args:?}");
    }
}
