// From bytes to values by encoding/json, into `any`. The jobs and their answers are those of
// `crates/experiments/src/decoding/jobs.rs` in bytelab.
package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// A step is a key, or an index where it is not negative.
type step struct {
	key   string
	index int
}

// A decoding has a document, and what one job leaves of it.
type decoding struct {
	text  []byte
	doc   any
	steps []step
	once  func(*decoding) error
	found any
	sum   uint64
	err   error
	// answers says what the answer is made of: "found", "sum" or nothing.
	answers string
}

// A made document is kept here so that it is not optimised away.
var made any

type job struct {
	answers string
	once    func(*decoding) error
}

var jobs = map[string]job{
	"convert":       {"", (*decoding).parse},
	"parse":         {"", (*decoding).parse},
	"open-trusted":  {"", (*decoding).parse},
	"lookup":        {"found", (*decoding).lookUp},
	"traverse":      {"sum", (*decoding).traverse},
	"to-json":       {"", (*decoding).print},
	"bytes-to-name": {"found", (*decoding).bytesToName},
	"bytes-to-all":  {"sum", (*decoding).bytesToAll},
	"json-to-all":   {"sum", (*decoding).bytesToAll},
}

func prepareDecoding(name string, values map[string]string) (task, error) {
	if name != "json" {
		return nil, fmt.Errorf("there is no method %s", name)
	}
	text, err := os.ReadFile(values["file"])
	if err != nil {
		return nil, err
	}
	job, ok := jobs[values["job"]]
	if !ok {
		return nil, fmt.Errorf("there is no job %s", values["job"])
	}
	d := &decoding{text: text, once: job.once, answers: job.answers}
	for _, token := range strings.Split(values["pointer"], "/")[1:] {
		d.steps = append(d.steps, stepOf(token))
	}
	d.doc, err = parse(text)
	return d, err
}

func parse(text []byte) (doc any, err error) {
	err = json.Unmarshal(text, &doc)
	return doc, err
}

func stepOf(token string) step {
	if index, err := strconv.Atoi(token); err == nil && index >= 0 {
		return step{"", index}
	}
	return step{strings.NewReplacer("~1", "/", "~0", "~").Replace(token), -1}
}

func (d *decoding) run(ops uint64) {
	d.err = nil
	for i := uint64(0); i < ops && d.err == nil; i++ {
		d.err = d.once(d)
	}
}

func (d *decoding) done(uint64) (string, error) {
	if d.err != nil {
		return "", d.err
	}
	line := "bytes=0"
	switch d.answers {
	case "found":
		line += fmt.Sprintf(" answer=%016x", mark(d.found))
	case "sum":
		line += fmt.Sprintf(" answer=%016x", d.sum)
	}
	return line + fmt.Sprintf(" size_bytes=%d", len(d.text)), nil
}

func (d *decoding) parse() error {
	doc, err := parse(d.text)
	made = doc
	return err
}

func (d *decoding) lookUp() error {
	d.found = find(d.doc, d.steps)
	return nil
}

func (d *decoding) traverse() error {
	d.sum = visit(d.doc)
	return nil
}

func (d *decoding) print() error {
	text, err := json.Marshal(d.doc)
	made = text
	return err
}

func (d *decoding) bytesToName() error {
	doc, err := parse(d.text)
	d.found = find(doc, d.steps)
	return err
}

func (d *decoding) bytesToAll() error {
	doc, err := parse(d.text)
	d.sum = visit(doc)
	return err
}

func find(value any, steps []step) any {
	for _, step := range steps {
		switch inner := value.(type) {
		case []any:
			if step.index < 0 || step.index >= len(inner) {
				return nil
			}
			value = inner[step.index]
		case map[string]any:
			value = inner[step.key]
		}
	}
	return value
}

// visit adds up the lengths of texts and keys, and the whole parts of numbers.
func visit(value any) uint64 {
	switch value := value.(type) {
	case string:
		return uint64(len(value))
	case float64:
		return whole(value)
	case bool:
		if value {
			return 1
		}
	case []any:
		var sum uint64
		for _, item := range value {
			sum += visit(item)
		}
		return sum
	case map[string]any:
		var sum uint64
		for key, item := range value {
			sum += uint64(len(key)) + visit(item)
		}
		return sum
	}
	return 0
}

// whole does as Rust does: what is too large becomes the largest integer.
func whole(number float64) uint64 {
	switch {
	case number >= math.MaxInt64:
		return math.MaxInt64
	case number <= math.MinInt64:
		return 1 << 63
	}
	return uint64(int64(number))
}

// mark is what stands for a value that was looked up.
func mark(value any) uint64 {
	switch value := value.(type) {
	case nil:
		return 0
	case string:
		if len(value) < 4 {
			return uint64(len(value))
		}
		return uint64(len(value)) + uint64(binary.LittleEndian.Uint32([]byte(value[:4])))<<32
	case float64:
		return math.Float64bits(value)
	case bool:
		return visit(value)
	}
	return 1
}

// digest is that of the text that encoding/json writes, read again.
func (d *decoding) digest() string {
	if os.Getenv("BYTELAB_DIGEST") != "" || os.Getenv("BYTELAB_FRESH") != "" {
		return ""
	}
	text, _ := json.Marshal(d.doc)
	doc, err := parse(text)
	if err != nil {
		return "0"
	}
	return fmt.Sprintf("%016x", digestOf(doc))
}

// digestOf is the digest of `crates/experiments/src/decoding/jobs.rs`.
func digestOf(value any) uint64 {
	switch value := value.(type) {
	case bool:
		return 2 + visit(value)
	case float64:
		return mixed(4, math.Float64bits(value+0))
	case string:
		return digestOfText(5, value)
	case []any:
		sum := uint64(6)
		for _, item := range value {
			sum = mixed(sum, digestOf(item))
		}
		return sum
	case map[string]any:
		sum := uint64(7)
		for key, item := range value {
			sum += mixed(digestOfText(8, key), digestOf(item))
		}
		return sum
	}
	return 1
}

func digestOfText(sum uint64, text string) uint64 {
	for i := range len(text) {
		sum = mixed(sum, uint64(text[i]))
	}
	return sum
}

// mixed is the finaliser of splitmix64 over the sum so far.
func mixed(sum, next uint64) uint64 {
	z := sum*0x9e3779b97f4a7c15 ^ next
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
