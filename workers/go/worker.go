// Methods in Go: `worker reading METHOD`, `worker decoding METHOD` and `worker loading METHOD` speak the line protocol,
// `worker copying` copies standard input to standard output.
package main

import (
	"bufio"
	"fmt"
	"io"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A reader has the file that it reads and what it uses again.
type reader struct {
	path string
	// What is read instead of the file, and the file of the certificates to trust.
	url          string
	certificates string
	// The client of the URL, which keeps its connection.
	client any
	buffer []byte
	sum    uint64
	bytes  uint64
	err    error
}

type method func(*reader) error

// The file http.go adds its own, where it is compiled as well.
var methods = map[string]method{"read": byRead, "bufio": byBufio, "readfile": byReadFile, "mmap": byMmap}

func (r *reader) add(chunk []byte) {
	var total uint64
	for _, b := range chunk {
		total += uint64(b)
	}
	r.sum += total
	r.bytes += uint64(len(chunk))
}

func byRead(r *reader) error {
	file, err := os.Open(r.path)
	if err != nil {
		return err
	}
	defer file.Close()
	return r.addAll(file)
}

func (r *reader) addAll(from io.Reader) error {
	for {
		n, err := from.Read(r.buffer)
		r.add(r.buffer[:n])
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func byBufio(r *reader) error {
	file, err := os.Open(r.path)
	if err != nil {
		return err
	}
	defer file.Close()
	buffered := bufio.NewReaderSize(file, len(r.buffer))
	var total, bytes uint64
	for {
		b, err := buffered.ReadByte()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		total += uint64(b)
		bytes++
	}
	r.sum += total
	r.bytes += bytes
	return nil
}

func byReadFile(r *reader) error {
	all, err := os.ReadFile(r.path)
	r.add(all)
	return err
}

// mapFile maps the whole file, which whoever calls it unmaps.
func mapFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	mapped, err := syscall.Mmap(int(file.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("mapping %s: %w", path, err)
	}
	return mapped, nil
}

func byMmap(r *reader) error {
	mapped, err := mapFile(r.path)
	if err != nil {
		return err
	}
	r.add(mapped)
	return syscall.Munmap(mapped)
}

// repeat reads the file so many times. What it tells is the sum of one time.
func (r *reader) repeat(read method, ops uint64) {
	r.bytes, r.err = 0, nil
	for i := uint64(0); i < ops && r.err == nil; i++ {
		r.sum = 0
		r.err = read(r)
	}
}

// run reads one file here, several by a goroutine each.
func run(readers []*reader, read method, ops uint64) {
	if len(readers) == 1 {
		readers[0].repeat(read, ops)
		return
	}
	var all sync.WaitGroup
	for _, r := range readers {
		all.Add(1)
		go func() {
			defer all.Done()
			r.repeat(read, ops)
		}()
	}
	all.Wait()
}

// A task is a method that is set up for a point.
type task interface {
	// run is what is timed.
	run(ops uint64)
	// done gives the result of the last run as the words of the protocol.
	done(ops uint64) (string, error)
	// digest is empty where there is none.
	digest() string
}

type reading struct {
	readers []*reader
	read    method
}

func (r *reading) run(ops uint64) { run(r.readers, r.read, ops) }

func (r *reading) digest() string { return "" }

func (r *reading) done(uint64) (string, error) {
	var sum, bytes uint64
	for _, r := range r.readers {
		if r.err != nil {
			return "", r.err
		}
		sum += r.sum
		bytes += r.bytes
	}
	return fmt.Sprintf("bytes=%d answer=%016x", bytes, sum), nil
}

// cpu is the user and the system time of this process until now.
func cpu() (user, system int64) {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0, 0
	}
	return usage.Utime.Nano(), usage.Stime.Nano()
}

func sample(job task, n string, ops uint64, counts bool) string {
	var before, after runtime.MemStats
	if counts {
		runtime.ReadMemStats(&before)
	}
	userBefore, systemBefore := cpu()
	start := time.Now()
	job.run(ops)
	wall := time.Since(start)
	user, system := cpu()
	if counts {
		runtime.ReadMemStats(&after)
	}
	done, err := job.done(ops)
	if err != nil {
		return "fail " + err.Error()
	}
	line := fmt.Sprintf("done %s wall=%d ops=%d %s user_ns=%.1f system_ns=%.1f", n, wall.Nanoseconds(), ops, done,
		float64(user-userBefore)/float64(ops), float64(system-systemBefore)/float64(ops))
	if counts {
		line += fmt.Sprintf(" allocations=%g allocated_bytes=%g",
			float64(after.Mallocs-before.Mallocs)/float64(ops),
			float64(after.TotalAlloc-before.TotalAlloc)/float64(ops))
	}
	return line
}

func arguments(words []string) map[string]string {
	values := map[string]string{}
	for _, word := range words {
		if name, value, ok := strings.Cut(word, "="); ok {
			values[name], _ = url.PathUnescape(value)
		}
	}
	return values
}

func prepareReading(name string, values map[string]string) (task, error) {
	read := methods[name]
	if read == nil {
		return nil, fmt.Errorf("there is no method %s", name)
	}
	size, err := strconv.Atoi(values["buffer"])
	if err != nil {
		size = 128 << 10
	}
	job := &reading{read: read}
	for number := ""; values["file"+number] != ""; number = strconv.Itoa(len(job.readers) + 1) {
		job.readers = append(job.readers, &reader{
			path: values["file"+number], url: values["url"+number],
			certificates: values["certificates"], buffer: make([]byte, size),
		})
	}
	return job, nil
}

func ready(job task, err error) string {
	if err != nil {
		return "fail " + err.Error()
	}
	if digest := job.digest(); digest != "" {
		return "ready digest=" + digest
	}
	return "ready"
}

func speak(name string, prepare func(string, map[string]string) (task, error)) {
	fmt.Printf("hello 1 name=go-%s lang=go\n", name)
	counts := os.Getenv("BYTELAB_COUNTING") != ""
	var job task
	orders := bufio.NewScanner(os.Stdin)
	for orders.Scan() {
		words := strings.Fields(orders.Text())
		switch {
		case len(words) == 0 || words[0] == "bye":
			return
		case words[0] == "prepare":
			var err error
			job, err = prepare(name, arguments(words[1:]))
			fmt.Println(ready(job, err))
		case words[0] == "go" && len(words) > 1 && job != nil:
			ops, err := strconv.ParseUint(arguments(words[2:])["ops"], 10, 64)
			if err != nil {
				ops = 1
			}
			fmt.Println(sample(job, words[1], ops, counts))
		default:
			fmt.Println("fail an order that I do not know, or too early")
		}
	}
}

func main() {
	switch words := os.Args[1:]; {
	case len(words) == 2 && words[0] == "reading":
		speak(words[1], prepareReading)
	case len(words) == 2 && words[0] == "decoding":
		speak(words[1], prepareDecoding)
	case len(words) == 2 && words[0] == "loading":
		speak(words[1], prepareLoading)
	case len(words) == 1 && words[0] == "copying":
		if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		fmt.Fprintln(os.Stderr, "use: worker reading METHOD | worker decoding METHOD | worker loading METHOD | worker copying")
		os.Exit(2)
	}
}
