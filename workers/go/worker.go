// Methods in Go: `worker reading METHOD` speaks the line protocol, `worker copying` copies standard input to
// standard output.
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
	path   string
	buffer []byte
	sum    uint64
	bytes  uint64
	err    error
}

type method func(*reader) error

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
	for {
		n, err := file.Read(r.buffer)
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

func byMmap(r *reader) error {
	file, err := os.Open(r.path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	mapped, err := syscall.Mmap(int(file.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("mapping %s: %w", r.path, err)
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

func sample(readers []*reader, read method, n string, ops uint64, counts bool) string {
	var before, after runtime.MemStats
	if counts {
		runtime.ReadMemStats(&before)
	}
	start := time.Now()
	run(readers, read, ops)
	wall := time.Since(start)
	if counts {
		runtime.ReadMemStats(&after)
	}
	var sum, bytes uint64
	for _, r := range readers {
		if r.err != nil {
			return "fail " + r.err.Error()
		}
		sum += r.sum
		bytes += r.bytes
	}
	line := fmt.Sprintf("done %s wall=%d ops=%d bytes=%d answer=%016x", n, wall.Nanoseconds(), ops, bytes, sum)
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

func prepare(values map[string]string) []*reader {
	size, err := strconv.Atoi(values["buffer"])
	if err != nil {
		size = 128 << 10
	}
	var readers []*reader
	for name := "file"; values[name] != ""; name = fmt.Sprintf("file%d", len(readers)+1) {
		readers = append(readers, &reader{path: values[name], buffer: make([]byte, size)})
	}
	return readers
}

func speak(name string) {
	fmt.Printf("hello 1 name=go-%s lang=go\n", name)
	read, counts := methods[name], os.Getenv("BYTELAB_COUNTING") != ""
	var readers []*reader
	orders := bufio.NewScanner(os.Stdin)
	for orders.Scan() {
		words := strings.Fields(orders.Text())
		switch {
		case len(words) == 0 || words[0] == "bye":
			return
		case read == nil:
			fmt.Printf("fail there is no method %s\n", name)
		case words[0] == "prepare":
			readers = prepare(arguments(words[1:]))
			fmt.Println("ready")
		case words[0] == "go" && len(words) > 1 && len(readers) > 0:
			ops, err := strconv.ParseUint(arguments(words[2:])["ops"], 10, 64)
			if err != nil {
				ops = 1
			}
			fmt.Println(sample(readers, read, words[1], ops, counts))
		default:
			fmt.Println("fail an order that I do not know, or too early")
		}
	}
}

func main() {
	switch words := os.Args[1:]; {
	case len(words) == 2 && words[0] == "reading":
		speak(words[1])
	case len(words) == 1 && words[0] == "copying":
		if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		fmt.Fprintln(os.Stderr, "use: worker reading METHOD | worker copying")
		os.Exit(2)
	}
}
