// Ways to load ranges of a file in Go. The job and its answer are those of `crates/experiments/src/loading` in
// bytelab.
package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

type span struct{ offset, length int64 }

// A loading has the ranges that are wanted, and the sum of what was loaded last.
type loading struct {
	path   string
	spans  []span
	load   func(*loading) error
	loaded [][]byte
	// The mapping that is given back after the sample.
	mapped []byte
	sum    uint64
	err    error
}

func prepareLoading(name string, values map[string]string) (task, error) {
	load := map[string]func(*loading) error{"read": (*loading).read, "mmap": (*loading).mmap}[name]
	if load == nil {
		return nil, fmt.Errorf("there is no method %s", name)
	}
	list, err := os.ReadFile(values["ranges"])
	if err != nil {
		return nil, err
	}
	job := &loading{path: values["file"], load: load}
	for _, line := range strings.Split(strings.TrimSpace(string(list)), "\n") {
		var s span
		if _, err := fmt.Sscan(line, &s.offset, &s.length); err != nil {
			return nil, fmt.Errorf("%s: %w", values["ranges"], err)
		}
		job.spans = append(job.spans, s)
	}
	return job, nil
}

func (l *loading) read() error {
	file, err := os.Open(l.path)
	if err != nil {
		return err
	}
	defer file.Close()
	for _, s := range l.spans {
		bytes := make([]byte, s.length)
		if _, err := file.ReadAt(bytes, s.offset); err != nil {
			return fmt.Errorf("reading %s at offset %d: %w", l.path, s.offset, err)
		}
		l.loaded = append(l.loaded, bytes)
	}
	return nil
}

func (l *loading) mmap() error {
	mapped, err := mapFile(l.path)
	if err != nil {
		return err
	}
	l.mapped = mapped
	for _, s := range l.spans {
		if s.offset+s.length > int64(len(mapped)) {
			return fmt.Errorf("%s has been cut", l.path)
		}
		l.loaded = append(l.loaded, mapped[s.offset:s.offset+s.length])
	}
	return nil
}

func (l *loading) release() {
	l.loaded = nil
	if l.mapped != nil {
		_ = syscall.Munmap(l.mapped)
		l.mapped = nil
	}
}

func (l *loading) run(ops uint64) {
	for i := uint64(0); i < ops; i++ {
		l.release()
		if l.err = l.load(l); l.err != nil {
			return
		}
		l.sum = 0
		for _, bytes := range l.loaded {
			for _, b := range bytes {
				l.sum += uint64(b)
			}
		}
	}
}

func (l *loading) digest() string { return "" }

func (l *loading) done(ops uint64) (string, error) {
	l.release()
	var total int64
	for _, s := range l.spans {
		total += s.length
	}
	return fmt.Sprintf("bytes=%d answer=%016x", uint64(total)*ops, l.sum), l.err
}
