// A C interface of fleece-codec, record-sampler and byte-stream. Made by cbindgen from the sources:
// `BYTELAB_WRITE_HEADER=1 cargo test --manifest-path libraries/c/Cargo.toml` writes it again.
//
// Ownership: what a function returns through `out` belongs to the caller, who frees it by the
// `_free` function of its type; a null pointer may be freed. A `BytelabBytes` is lent by the handle
// that it came from and is never freed.
// Errors: a function returns a status. Where it has an `error` and fails, it makes one with a
// message, which the caller frees; `error` may be null. `out` is set to null or zero then.
// Threads: documents, buffers, records, loaded files and errors do not change, so that several
// threads may read them at once; streams and pairs belong to one thread at a time, which may
// change. Nothing may be used while or after another thread frees it.
// Null pointers and impossible lengths are errors; other pointers must be valid. No panic leaves
// the library: it is the status PANIC, which is a defect of the library.


#ifndef BYTELAB_H
#define BYTELAB_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// What became of a call.
typedef enum BytelabStatus {
  // It is done.
  BYTELAB_STATUS_OK = 0,
  // There is nothing more.
  BYTELAB_STATUS_END = 1,
  // There is no such key, item or path.
  BYTELAB_STATUS_MISSING = 2,
  // The value is of another type, or does not fit the number.
  BYTELAB_STATUS_WRONG_TYPE = 3,
  // A null pointer, an impossible length, a malformed argument or an impossible request.
  BYTELAB_STATUS_INVALID_USE = 4,
  // The bytes are damaged, cut off or not what was expected.
  BYTELAB_STATUS_BAD_DATA = 5,
  // The system or a server refused.
  BYTELAB_STATUS_IO = 6,
  // A time limit has passed.
  BYTELAB_STATUS_TIMED_OUT = 7,
  // There is more than a limit allows.
  BYTELAB_STATUS_TOO_LARGE = 8,
  // A defect of the library.
  BYTELAB_STATUS_PANIC = 9,
  // A callback of the caller has ended it.
  BYTELAB_STATUS_CANCELLED = 10,
} BytelabStatus;

// What a value is.
typedef enum BytelabKind {
  // Fleece's own "no value", and what a null pointer has.
  BYTELAB_KIND_UNDEFINED = 0,
  BYTELAB_KIND_NULL = 1,
  BYTELAB_KIND_BOOL = 2,
  BYTELAB_KIND_NUMBER = 3,
  BYTELAB_KIND_STRING = 4,
  BYTELAB_KIND_DATA = 5,
  BYTELAB_KIND_ARRAY = 6,
  BYTELAB_KIND_DICT = 7,
} BytelabKind;

// A way to load a file.
typedef enum BytelabLoadWay {
  // Chooses one of the others.
  BYTELAB_LOAD_WAY_AUTO = 0,
  // One thread reads all.
  BYTELAB_LOAD_WAY_READ = 1,
  // Several threads read through the page cache.
  BYTELAB_LOAD_WAY_PREAD = 2,
  // The file is mapped. Needs `allow_map`, and one range.
  BYTELAB_LOAD_WAY_MAP = 3,
  // Several threads read past the page cache, by `O_DIRECT`.
  BYTELAB_LOAD_WAY_DIRECT = 4,
} BytelabLoadWay;

// Why a way was chosen.
typedef enum BytelabLoadReason {
  // The size is not known before the end.
  BYTELAB_LOAD_REASON_UNKNOWN_SIZE = 0,
  // The options say so.
  BYTELAB_LOAD_REASON_REQUESTED = 1,
  // There is less than 1 MiB to load.
  BYTELAB_LOAD_REASON_SMALL = 2,
  // The bytes do not fit into the memory that is left.
  BYTELAB_LOAD_REASON_LARGER_THAN_MEMORY = 3,
  // At least half of the bytes are in the page cache.
  BYTELAB_LOAD_REASON_CACHED = 4,
  // The bytes fit into the memory that is left, but not together with a copy in the page cache.
  BYTELAB_LOAD_REASON_NO_ROOM_FOR_CACHE = 5,
  // Less than half is cached, and memory is left for both.
  BYTELAB_LOAD_REASON_NOT_CACHED = 6,
  // It cannot be found out what is cached.
  BYTELAB_LOAD_REASON_CACHE_UNKNOWN = 7,
  // The file system refuses `O_DIRECT`.
  BYTELAB_LOAD_REASON_DIRECT_REFUSED = 8,
  // A reason that has no number here.
  BYTELAB_LOAD_REASON_OTHER = 9,
} BytelabLoadReason;

// Bytes of their own.
typedef struct BytelabBuffer BytelabBuffer;

// An error with its message.
typedef struct BytelabError BytelabError;

// A document.
typedef struct BytelabFleece BytelabFleece;

// A loaded file.
typedef struct BytelabLoaded BytelabLoaded;

// The pairs of a dict that were not read yet.
typedef struct BytelabPairs BytelabPairs;

// The records of a sample.
typedef struct BytelabRecords BytelabRecords;

// An open stream.
typedef struct BytelabStream BytelabStream;

// Bytes that are lent. The pointer may be null if there are none.
typedef struct BytelabBytes {
  const uint8_t *data;
  size_t len;
} BytelabBytes;

// A value in a document: copied freely, never freed, and valid as long as the document.
typedef struct BytelabValue {
  const struct BytelabFleece *document;
  size_t offset;
} BytelabValue;

// What to draw. All that is zero is the default.
typedef struct BytelabSampleOptions {
  // The number of records. It is an error if there are fewer, unless `at_most` is set.
  uint64_t n;
  // The same seed gives the same records.
  uint64_t seed;
  // `lines`, `csv`, `tsv`, `jsonl`, `vcf`, `gff`, `sam`, `bed`, `tped`, `hapmap`, `fastq`,
  // `fasta`, `plink-bed` or `fixed:BYTES`; or null: by the endings of the names, as in
  // `x.csv.gz`, else by the first bytes, else `lines`.
  const char *format;
  // The name of a column of weights, or null.
  const char *weight;
  // The name of a column: `n` records for each of its values; or null.
  const char *per;
  // The first record of each file is its header. So it is of `csv` and `tsv`.
  bool header;
  // There is no header, of `csv` and `tsv` neither.
  bool no_header;
  // All records, if there are fewer than `n`.
  bool at_most;
  // The separator of the fields of `csv` and `tsv`; 0: what the header shows, if that is clear,
  // else a comma; a tab for `tsv`.
  uint8_t delimiter;
} BytelabSampleOptions;

// How to read. All that is zero is the default.
typedef struct BytelabStreamOptions {
  // It is an error if there are more bytes.
  uint64_t limit_bytes;
  // The longest time without a byte from a server.
  uint64_t idle_limit_ms;
  // The longest time for all of a URL.
  uint64_t total_limit_ms;
  // The size of a chunk.
  size_t buffer_bytes;
  // Of a URL: decode gzip, Brotli and zstd.
  bool decode;
  // Of a URL: accept a body that only the end of the connection ends, so that a truncated one
  // looks like a whole one.
  bool accept_unframed;
} BytelabStreamOptions;

// The bytes of a file from `start` up to `end`, which is not one of them.
typedef struct BytelabRange {
  uint64_t start;
  uint64_t end;
} BytelabRange;

// How to load a file. All that is zero is the default.
typedef struct BytelabLoadOptions {
  // The parts, which are loaded one behind the other; or null: the whole file.
  const struct BytelabRange *parts;
  // Their number.
  size_t part_count;
  // A `BytelabLoadWay`.
  uint32_t way;
  // The number of threads, where several read at once, up to 256; 0: it is chosen.
  size_t threads;
  // Allows to map the file, which is then chosen for 1 MiB and more. The caller promises that no
  // process changes or truncates the file until `bytelab_loaded_free`: the bytes would change,
  // too, and a page that was cut off ends the process by `SIGBUS`.
  bool allow_map;
  // Called after each step by one thread at a time, which may be another one than the caller's;
  // or null. `total_bytes` is 0 if it is not known. If it returns false, the loading ends:
  // CANCELLED.
  bool (*progress)(void *context, uint64_t done_bytes, uint64_t total_bytes);
  // Passed to `progress`.
  void *context;
} BytelabLoadOptions;

// The way in which a file was loaded, and facts behind it.
typedef struct BytelabLoadChoice {
  // The way; never AUTO.
  enum BytelabLoadWay way;
  // Why it was chosen.
  enum BytelabLoadReason reason;
  // The number of threads that read at once.
  size_t threads;
  // The number of bytes of all parts.
  uint64_t size_bytes;
  // The memory that was left before, of the machine and of the control groups; 0 if it was not
  // needed or is not known.
  uint64_t memory_left_bytes;
  // The share of the bytes that was in the page cache, 0 to 1; -1 as above.
  double cached_share;
} BytelabLoadChoice;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The message, which is never null and ends with a zero byte; lent by the error.
const char *bytelab_error_message(const struct BytelabError *error);

// Sets `offset` to the place in the input, in bytes; false if none is to blame.
bool bytelab_error_offset(const struct BytelabError *error, uint64_t *offset);

// The status of the HTTP response that is the cause, or 0.
uint16_t bytelab_error_http_status(const struct BytelabError *error);

// Frees an error.
void bytelab_error_free(struct BytelabError *error);

// Opens a document after checking all of it. The bytes are copied.
enum BytelabStatus bytelab_fleece_check(const uint8_t *bytes,
                                        size_t len,
                                        struct BytelabFleece **out,
                                        struct BytelabError **error);

// Makes a document of a JSON text.
enum BytelabStatus bytelab_fleece_from_json(const char *text,
                                            size_t len,
                                            struct BytelabFleece **out,
                                            struct BytelabError **error);

// The bytes of a document; lent by it.
struct BytelabBytes bytelab_fleece_bytes(const struct BytelabFleece *document);

// The outermost value.
struct BytelabValue bytelab_fleece_root(const struct BytelabFleece *document);

// Frees a document. Its values must not be used any more.
void bytelab_fleece_free(struct BytelabFleece *document);

// What a value is.
enum BytelabKind bytelab_value_kind(struct BytelabValue value);

// The number of items of an array or pairs of a dict; 0 of all else.
size_t bytelab_value_len(struct BytelabValue value);

// The item of an array: MISSING behind its end.
enum BytelabStatus bytelab_value_item(struct BytelabValue value,
                                      size_t index,
                                      struct BytelabValue *out);

// The value of a key of a dict: MISSING if there is none.
enum BytelabStatus bytelab_value_get(struct BytelabValue value,
                                     const char *key,
                                     size_t key_len,
                                     struct BytelabValue *out);

// What stands at a path such as `people[0].name`: MISSING if there is nothing.
enum BytelabStatus bytelab_value_path(struct BytelabValue value,
                                      const char *path,
                                      size_t path_len,
                                      struct BytelabValue *out);

// A boolean.
enum BytelabStatus bytelab_value_bool(struct BytelabValue value, bool *out);

// An integer; `WRONG_TYPE` if it does not fit.
enum BytelabStatus bytelab_value_i64(struct BytelabValue value, int64_t *out);

// An integer that is not negative; `WRONG_TYPE` if it is.
enum BytelabStatus bytelab_value_u64(struct BytelabValue value, uint64_t *out);

// A number.
enum BytelabStatus bytelab_value_f64(struct BytelabValue value, double *out);

// A text in UTF-8, without a zero byte at its end; lent by the document.
enum BytelabStatus bytelab_value_string(struct BytelabValue value, struct BytelabBytes *out);

// Binary data; lent by the document.
enum BytelabStatus bytelab_value_data(struct BytelabValue value, struct BytelabBytes *out);

// The pairs of a dict, in the order of storage. The document must outlive them.
enum BytelabStatus bytelab_value_pairs(struct BytelabValue value, struct BytelabPairs **out);

// The next pair; END when there is none. The key is lent by the document.
enum BytelabStatus bytelab_pairs_next(struct BytelabPairs *pairs,
                                      struct BytelabBytes *key,
                                      struct BytelabValue *value);

// Frees pairs.
void bytelab_pairs_free(struct BytelabPairs *pairs);

// JSON of a value. `TOO_LARGE` if it were longer than `max_bytes`, of which 0 is 1 GiB: a small
// document may hold very much.
enum BytelabStatus bytelab_value_to_json(struct BytelabValue value,
                                         size_t max_bytes,
                                         struct BytelabBuffer **out,
                                         struct BytelabError **error);

// The bytes of a buffer, without a zero byte at their end; lent by it.
struct BytelabBytes bytelab_buffer_bytes(const struct BytelabBuffer *buffer);

// Frees a buffer.
void bytelab_buffer_free(struct BytelabBuffer *buffer);

// Draws a fair sample of the records of files, which are one population.
enum BytelabStatus bytelab_sample(const char *const *paths,
                                  size_t path_count,
                                  const struct BytelabSampleOptions *options,
                                  struct BytelabRecords **out,
                                  struct BytelabError **error);

// The number of records.
size_t bytelab_records_count(const struct BytelabRecords *records);

// A record as it stands in the file, with its line end; lent by the records.
enum BytelabStatus bytelab_records_get(const struct BytelabRecords *records,
                                       size_t index,
                                       struct BytelabBytes *out);

// Frees records.
void bytelab_records_free(struct BytelabRecords *records);

// Opens a path, `-` (standard input) or a URL. `options` may be null.
enum BytelabStatus bytelab_stream_open(const char *address,
                                       const struct BytelabStreamOptions *options,
                                       struct BytelabStream **out,
                                       struct BytelabError **error);

// Lends the next bytes, until the next call with this stream; END when there are none. After an
// error every call is an error.
enum BytelabStatus bytelab_stream_next(struct BytelabStream *stream,
                                       struct BytelabBytes *chunk,
                                       struct BytelabError **error);

// Closes and frees a stream.
void bytelab_stream_close(struct BytelabStream *stream);

// Copies all bytes from a descriptor to another by the cheapest way there is. Both stay open and
// must be open until the end. `copied` is their number; it may be null.
enum BytelabStatus bytelab_copy(int from, int to, uint64_t *copied, struct BytelabError **error);

// Loads a file, or parts of it, into memory. `options` may be null.
enum BytelabStatus bytelab_load(const char *path,
                                const struct BytelabLoadOptions *options,
                                struct BytelabLoaded **out,
                                struct BytelabError **error);

// The bytes of all parts, one behind the other; lent by the loaded file.
struct BytelabBytes bytelab_loaded_bytes(const struct BytelabLoaded *loaded);

// The bytes of one part, of which a whole file has one; lent by the loaded file. MISSING behind
// the last.
enum BytelabStatus bytelab_loaded_part(const struct BytelabLoaded *loaded,
                                       size_t index,
                                       struct BytelabBytes *out);

// The way in which it was loaded, and why.
enum BytelabStatus bytelab_loaded_choice(const struct BytelabLoaded *loaded,
                                         struct BytelabLoadChoice *out);

// Frees a loaded file. Its bytes must not be used any more.
void bytelab_loaded_free(struct BytelabLoaded *loaded);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* BYTELAB_H */
