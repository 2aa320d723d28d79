//! The C interface: handles, statuses and errors. All work is done by the libraries.

mod fleece;
mod load;
mod pointers;
mod records;
mod status;
mod stream;
