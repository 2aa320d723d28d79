//! Fleece: checked documents, the values in them, and JSON.

use std::ffi::c_char;
use std::ptr;

use fleece_codec::json::PrintOptions;
use fleece_codec::{Array, Dict, Doc, Kind, Path, Value, json};

use crate::pointers::{self, BytelabBytes};
use crate::status::{self, BytelabError, BytelabStatus, Failure};

/// A document.
pub struct BytelabFleece(Doc<Vec<u8>>);

/// A value in a document: copied freely, never freed, and valid as long as the document.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct BytelabValue {
    pub document: *const BytelabFleece,
    pub offset: usize,
}

/// What a value is.
#[repr(C)]
pub enum BytelabKind {
    /// Fleece's own "no value", and what a null pointer has.
    Undefined = 0,
    Null = 1,
    Bool = 2,
    Number = 3,
    String = 4,
    Data = 5,
    Array = 6,
    Dict = 7,
}

/// The pairs of a dict that were not read yet.
pub struct BytelabPairs(std::vec::IntoIter<(BytelabBytes, BytelabValue)>);

/// Bytes of their own.
pub struct BytelabBuffer(Vec<u8>);

const NO_VALUE: BytelabValue = BytelabValue { document: ptr::null(), offset: 0 };

/// What is read by several threads at once.
const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<BytelabFleece>();
    is_shared::<BytelabBuffer>();
};

/// Opens a document after checking all of it. The bytes are copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_fleece_check(
    bytes: *const u8,
    len: usize,
    out: *mut *mut BytelabFleece,
    error: *mut *mut BytelabError,
) -> BytelabStatus {
    // SAFETY: the caller vouches for it.
    unsafe { document_of(bytes, len, out, error, |bytes| Doc::check(bytes.to_vec())) }
}

/// Makes a document of a JSON text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_fleece_from_json(
    text: *const c_char,
    len: usize,
    out: *mut *mut BytelabFleece,
    error: *mut *mut BytelabError,
) -> BytelabStatus {
    // SAFETY: the caller vouches for it.
    unsafe { document_of(text.cast(), len, out, error, |text| Doc::open(json::to_fleece(text)?)) }
}

unsafe fn document_of(
    bytes: *const u8,
    len: usize,
    out: *mut *mut BytelabFleece,
    error: *mut *mut BytelabError,
    make: impl FnOnce(&[u8]) -> fleece_codec::Result<Doc<Vec<u8>>>,
) -> BytelabStatus {
    // SAFETY: the caller vouches for it.
    unsafe { status::clear(error) };
    let work = || {
        // SAFETY: the caller vouches for it.
        let out = unsafe { pointers::out(out, ptr::null_mut()) }?;
        // SAFETY: the caller vouches for it.
        let bytes = unsafe { pointers::bytes(bytes, len) }?;
        *out = pointers::handle(BytelabFleece(make(bytes)?));
        Ok(())
    };
    // SAFETY: the caller vouches for it.
    unsafe { status::reported(error, work) }
}

/// The bytes of a document; lent by it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_fleece_bytes(document: *const BytelabFleece) -> BytelabBytes {
    // SAFETY: the caller vouches for it, unless it is null.
    let document = unsafe { document.as_ref() };
    document.map_or(BytelabBytes::NONE, |document| BytelabBytes::new(document.0.as_bytes()))
}

/// The outermost value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_fleece_root(document: *const BytelabFleece) -> BytelabValue {
    // SAFETY: the caller vouches for it, unless it is null.
    let Some(open) = (unsafe { document.as_ref() }) else {
        return NO_VALUE;
    };
    let root = || BytelabValue { document, offset: open.0.root().offset() };
    status::value_of(NO_VALUE, root)
}

/// Frees a document. Its values must not be used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_fleece_free(document: *mut BytelabFleece) {
    // SAFETY: the caller vouches for it, unless it is null.
    unsafe { pointers::free(document) };
}

/// What a value is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_value_kind(value: BytelabValue) -> BytelabKind {
    // SAFETY: the caller vouches for its document.
    let Ok(value) = (unsafe { value.read() }) else {
        return BytelabKind::Undefined;
    };
    match status::value_of(Kind::Undefined, || value.kind()) {
        Kind::Null => BytelabKind::Null,
        Kind::Bool => BytelabKind::Bool,
        Kind::Number => BytelabKind::Number,
        Kind::String => BytelabKind::String,
        Kind::Data => BytelabKind::Data,
        Kind::Array => BytelabKind::Array,
        Kind::Dict => BytelabKind::Dict,
        _ => BytelabKind::Undefined,
    }
}

/// The number of items of an array or pairs of a dict; 0 of all else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_value_len(value: BytelabValue) -> usize {
    // SAFETY: the caller vouches for its document.
    let Ok(value) = (unsafe { value.read() }) else {
        return 0;
    };
    status::value_of(0, || {
        let len = value.as_array().map(Array::len);
        len.or_else(|| value.as_dict().map(Dict::len)).unwrap_or(0)
    })
}

/// The item of an array: MISSING behind its end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_value_item(
    value: BytelabValue,
    index: usize,
    out: *mut BytelabValue,
) -> BytelabStatus {
    // SAFETY: the caller vouches for both.
    unsafe {
        value.find(out, |value| Ok(value.as_array().ok_or(BytelabStatus::WrongType)?.get(index)))
    }
}

/// The value of a key of a dict: MISSING if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_value_get(
    value: BytelabValue,
    key: *const c_char,
    key_len: usize,
    out: *mut BytelabValue,
) -> BytelabStatus {
    let find = |value: Value<'static>| {
        // SAFETY: the caller vouches for it.
        let key = unsafe { pointers::text(key, key_len) }?;
        Ok(value.as_dict().ok_or(BytelabStatus::WrongType)?.get(key))
    };
    // SAFETY: the caller vouches for both.
    unsafe { value.find(out, find) }
}

/// What stands at a path such as `people[0].name`: MISSING if there is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_value_path(
    value: BytelabValue,
    path: *const c_char,
    path_len: usize,
    out: *mut BytelabValue,
) -> BytelabStatus {
    let find = |value: Value<'static>| {
        // SAFETY: the caller vouches for it.
        let path = unsafe { pointers::text(path, path_len) }?;
        Ok(Path::new(path)?.find(value))
    };
    // SAFETY: the caller vouches for both.
    unsafe { value.find(out, find) }
}

/// A boolean.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_value_bool(value: BytelabValue, out: *mut bool) -> BytelabStatus {
    // SAFETY: the caller vouches for both.
    unsafe { value.copy(out, false, Value::as_bool) }
}

/// An integer; `WRONG_TYPE` if it does not fit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_value_i64(value: BytelabValue, out: *mut i64) -> BytelabStatus {
    // SAFETY: the caller vouches for both.
    unsafe { value.copy(out, 0, Value::as_i64) }
}

/// An integer that is not negative; `WRONG_TYPE` if it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_value_u64(value: BytelabValue, out: *mut u64) -> BytelabStatus {
    // SAFETY: the caller vouches for both.
    unsafe { value.copy(out, 0, Value::as_u64) }
}

/// A number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_value_f64(value: BytelabValue, out: *mut f64) -> BytelabStatus {
    // SAFETY: the caller vouches for both.
    unsafe { value.copy(out, 0.0, Value::as_f64) }
}

/// A text in UTF-8, without a zero byte at its end; lent by the document.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_value_string(
    value: BytelabValue,
    out: *mut BytelabBytes,
) -> BytelabStatus {
    let string = |value: Value<'_>| value.as_str().map(|text| BytelabBytes::new(text.as_bytes()));
    // SAFETY: the caller vouches for both.
    unsafe { value.copy(out, BytelabBytes::NONE, string) }
}

/// Binary data; lent by the document.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_value_data(
    value: BytelabValue,
    out: *mut BytelabBytes,
) -> BytelabStatus {
    let data = |value: Value<'_>| value.as_data().map(BytelabBytes::new);
    // SAFETY: the caller vouches for both.
    unsafe { value.copy(out, BytelabBytes::NONE, data) }
}

/// The pairs of a dict, in the order of storage. The document must outlive them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_value_pairs(
    value: BytelabValue,
    out: *mut *mut BytelabPairs,
) -> BytelabStatus {
    status::status_of(|| {
        // SAFETY: the caller vouches for it.
        let out = unsafe { pointers::out(out, ptr::null_mut()) }?;
        // SAFETY: the caller vouches for its document.
        let dict = unsafe { value.read() }?.as_dict().ok_or(BytelabStatus::WrongType)?;
        let pair = |(key, item): (fleece_codec::DictKey<'_>, Value<'_>)| {
            let key = BytelabBytes::new(key.as_str()?.as_bytes());
            Some((key, BytelabValue { document: value.document, offset: item.offset() }))
        };
        let pairs: Vec<_> = dict.iter().filter_map(pair).collect();
        *out = pointers::handle(BytelabPairs(pairs.into_iter()));
        Ok(())
    })
}

/// The next pair; END when there is none. The key is lent by the document.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_pairs_next(
    pairs: *mut BytelabPairs,
    key: *mut BytelabBytes,
    value: *mut BytelabValue,
) -> BytelabStatus {
    status::status_of(|| {
        // SAFETY: the caller vouches for it.
        let key = unsafe { pointers::out(key, BytelabBytes::NONE) }?;
        // SAFETY: the caller vouches for it.
        let value = unsafe { pointers::out(value, NO_VALUE) }?;
        // SAFETY: the caller vouches for it, and that no other thread uses it.
        let pairs = unsafe { pointers::exclusive(pairs) }?;
        (*key, *value) = pairs.0.next().ok_or(BytelabStatus::End)?;
        Ok(())
    })
}

/// Frees pairs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_pairs_free(pairs: *mut BytelabPairs) {
    // SAFETY: the caller vouches for it, unless it is null.
    unsafe { pointers::free(pairs) };
}

/// JSON of a value. `TOO_LARGE` if it were longer than `max_bytes`, of which 0 is 1 GiB: a small
/// document may hold very much.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_value_to_json(
    value: BytelabValue,
    max_bytes: usize,
    out: *mut *mut BytelabBuffer,
    error: *mut *mut BytelabError,
) -> BytelabStatus {
    // SAFETY: the caller vouches for it.
    unsafe { status::clear(error) };
    let work = || {
        // SAFETY: the caller vouches for it.
        let out = unsafe { pointers::out(out, ptr::null_mut()) }?;
        // SAFETY: the caller vouches for its document.
        let value = unsafe { value.read() }?;
        let max_bytes = if max_bytes == 0 { 1 << 30 } else { max_bytes };
        let text = PrintOptions::new().size_limit_bytes(max_bytes).print(value)?;
        *out = pointers::handle(BytelabBuffer(text.into_bytes()));
        Ok(())
    };
    // SAFETY: the caller vouches for it.
    unsafe { status::reported(error, work) }
}

/// The bytes of a buffer, without a zero byte at their end; lent by it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_buffer_bytes(buffer: *const BytelabBuffer) -> BytelabBytes {
    // SAFETY: the caller vouches for it, unless it is null.
    let buffer = unsafe { buffer.as_ref() };
    buffer.map_or(BytelabBytes::NONE, |buffer| BytelabBytes::new(&buffer.0))
}

/// Frees a buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_buffer_free(buffer: *mut BytelabBuffer) {
    // SAFETY: the caller vouches for it, unless it is null.
    unsafe { pointers::free(buffer) };
}

impl BytelabValue {
    /// An offset that belongs to no value reads as `undefined`, or as what its bytes mean.
    unsafe fn read<'a>(self) -> Result<Value<'a>, Failure> {
        // SAFETY: the caller vouches for it, unless it is null.
        let document = unsafe { pointers::shared(self.document) }?;
        Ok(document.0.value_at(self.offset).unwrap_or_else(Value::undefined))
    }

    /// Another value of the document.
    unsafe fn find<'a>(
        self,
        out: *mut BytelabValue,
        find: impl FnOnce(Value<'a>) -> Result<Option<Value<'a>>, Failure>,
    ) -> BytelabStatus {
        status::status_of(|| {
            // SAFETY: the caller vouches for it.
            let out = unsafe { pointers::out(out, NO_VALUE) }?;
            // SAFETY: the caller vouches for its document.
            let found = find(unsafe { self.read() }?)?.ok_or(BytelabStatus::Missing)?;
            *out = BytelabValue { offset: found.offset(), ..self };
            Ok(())
        })
    }

    /// What the value holds.
    unsafe fn copy<'a, T>(
        self,
        out: *mut T,
        empty: T,
        read: impl FnOnce(Value<'a>) -> Option<T>,
    ) -> BytelabStatus {
        status::status_of(|| {
            // SAFETY: the caller vouches for it.
            let out = unsafe { pointers::out(out, empty) }?;
            // SAFETY: the caller vouches for its document.
            let held = read(unsafe { self.read() }?).ok_or(BytelabStatus::WrongType)?;
            *out = held;
            Ok(())
        })
    }
}
