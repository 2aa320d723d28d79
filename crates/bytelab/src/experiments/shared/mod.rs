//! Parts that several experiments share. It depends on none of them.

pub(super) mod aligned_buffer;
pub(super) mod command;
pub(super) mod cpus;
pub(super) mod locked_folder;
pub(super) mod made_file;
pub(super) mod window;
