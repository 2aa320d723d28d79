//! A page as data: the blocks that a topic of `pages` composes, and that each kind of text renders.

use crate::text::{self, PageLayout};
use crate::views::table::{HeadingStyle, Style, Table};

pub(crate) struct Document {
    pub(crate) blocks: Vec<Block>,
    width: usize,
}

pub(crate) enum Block {
    /// What the page is about: a name, and a sentence about it.
    Heading {
        name: String,
        text: String,
    },
    /// What the blocks below it are about.
    Title(String),
    /// One line of any length, of parts that may each have a style.
    Line(Vec<(Style, String)>),
    Paragraph(Paragraph),
    /// What was measured, where, when and how.
    Facts(String),
    /// The answer to the question of an experiment.
    Answer(String),
    /// An item of a list.
    Item(String),
    /// A remark below the tables: an item of a list, where a kind of text has lists.
    Note(Paragraph),
    Table {
        /// How the rows are judged; may be empty. Markup leaves it out.
        caption: String,
        table: Table,
        head: HeadingStyle,
    },
    /// Only pages of HTML have figures.
    Figure {
        caption: &'static str,
        /// All text of unknown origin in it is escaped.
        svg: String,
    },
    /// An empty line, where a kind of text does not separate all blocks anyway.
    Gap,
    /// Blocks that are read in columns: markup shows them as a terminal does.
    Columns(Vec<Block>),
    /// Blocks below a title of their own. `id` is unique in the page.
    Section {
        id: &'static str,
        title: &'static str,
        blocks: Vec<Block>,
    },
    /// Blocks that a page of HTML shows when the reader asks for them.
    Details {
        summary: &'static str,
        blocks: Vec<Block>,
    },
    /// In a page of HTML, the field by which a reader chooses the rows of its tables.
    Filter,
    /// In a page of HTML, the charts, whose data are in the page: the numbers of cells that are
    /// drawn and left out.
    Charts {
        drawn: usize,
        left_out: usize,
    },
}

/// A text that is wrapped, and the mark before it.
pub(crate) struct Paragraph {
    /// That of the mark.
    pub style: Style,
    pub mark: String,
    pub text: String,
    /// Whether the lines of the text do not extend below the mark.
    pub hangs: bool,
}

/// Narrower pages are composed for this width: a line of three words is unreadable.
pub(crate) const WIDTH_MIN: usize = 20;

impl Document {
    /// The width of a page on which nothing is wrapped or left out.
    pub(crate) const UNLIMITED: usize = usize::MAX / 2;

    /// An empty page of this width in columns.
    pub(crate) fn new(width: usize) -> Document {
        Document { blocks: Vec::new(), width: width.max(WIDTH_MIN) }
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn heading(&mut self, name: &str, text: &str) {
        self.blocks.push(Block::Heading { name: name.to_owned(), text: text.to_owned() });
    }

    pub(crate) fn title(&mut self, title: &str) {
        self.blocks.push(Block::Title(title.to_owned()));
    }

    pub(crate) fn line(&mut self, parts: &[(Style, &str)]) {
        let parts = parts.iter().map(|(style, part)| (*style, (*part).to_owned()));
        self.blocks.push(Block::Line(parts.collect()));
    }

    pub(crate) fn gap(&mut self) {
        self.blocks.push(Block::Gap);
    }

    /// `mark` precedes the text, in its style.
    pub(crate) fn paragraph(&mut self, style: Style, mark: &str, text: &str) {
        self.blocks.push(Block::Paragraph(Paragraph::new(style, mark, text)));
    }

    pub(crate) fn hanging(&mut self, mark: &str, text: &str) {
        let paragraph = Paragraph::new(Style::Plain, mark, text);
        self.blocks.push(Block::Paragraph(Paragraph { hangs: true, ..paragraph }));
    }

    pub(crate) fn facts(&mut self, text: &str) {
        self.blocks.push(Block::Facts(text.to_owned()));
    }

    /// An empty text is no answer.
    pub(crate) fn answer(&mut self, text: String) {
        if !text.is_empty() {
            self.blocks.push(Block::Answer(text));
        }
    }

    pub(crate) fn note(&mut self, style: Style, mark: &str, text: &str) {
        self.blocks.push(Block::Note(Paragraph::new(style, mark, text)));
    }

    pub(crate) fn table(&mut self, table: Table) {
        self.captioned("", table);
    }

    pub(crate) fn captioned(&mut self, caption: &str, table: Table) {
        let (caption, head) = (caption.to_owned(), HeadingStyle::Ruled);
        self.blocks.push(Block::Table { caption, table, head });
    }

    pub(crate) fn headed(&mut self, table: Table, style: Style) {
        let (caption, head) = (String::new(), HeadingStyle::Styled(style));
        self.blocks.push(Block::Table { caption, table, head });
    }

    pub(crate) fn columns<T>(&mut self, compose: impl FnOnce(&mut Document) -> T) -> T {
        let (composed, blocks) = self.within(compose);
        self.blocks.push(Block::Columns(blocks));
        composed
    }

    pub(crate) fn section(
        &mut self,
        id: &'static str,
        title: &'static str,
        compose: impl FnOnce(&mut Document),
    ) {
        let ((), blocks) = self.within(compose);
        self.blocks.push(Block::Section { id, title, blocks });
    }

    pub(crate) fn details(&mut self, summary: &'static str, compose: impl FnOnce(&mut Document)) {
        let ((), blocks) = self.within(compose);
        self.blocks.push(Block::Details { summary, blocks });
    }

    fn within<T>(&self, compose: impl FnOnce(&mut Document) -> T) -> (T, Vec<Block>) {
        let mut inner = Document::new(self.width);
        let composed = compose(&mut inner);
        (composed, inner.blocks)
    }

    pub(crate) fn text(&self, layout: &PageLayout) -> String {
        text::render(&self.blocks, layout)
    }
}

impl Paragraph {
    fn new(style: Style, mark: &str, text: &str) -> Paragraph {
        Paragraph { style, mark: mark.to_owned(), text: text.to_owned(), hangs: false }
    }
}
