//! The pages of `bytelab serve` besides the report: the list of runs, and a method over time. They
//! need no script.

use super::{Html, WITHOUT_SCRIPT, head};
use crate::views::history::HistoryLine;
use crate::views::units::{self, count};
use crate::views::words::minute;

/// The properties that the runs of a list have in common; an empty one matches any run.
pub struct Filter {
    pub experiment: String,
    /// In it, `*` stands for any text.
    pub label: String,
    pub machine: String,
}

/// A page of the list of runs.
pub struct RunList<'a> {
    pub runs: &'a [HistoryLine],
    /// How many of the filtered runs come before these, and how many there are.
    pub first: usize,
    pub total: usize,
    /// The number of the page; the first is 0.
    pub page: usize,
    pub has_older: bool,
    pub filter: &'a Filter,
}

const HEADINGS: [&str; 9] =
    ["run", "compare", "started", "label", "measured", "took", "fastest", "machine", "complete"];

pub fn runs(list: &RunList<'_>) -> String {
    let mut html = Html(String::new());
    head(&mut html, "bytelab: runs", WITHOUT_SCRIPT);
    html.raw("<header>\n<p class=\"kicker\">bytelab</p>\n<h1>Runs</h1>\n</header>\n");
    filter_form(&mut html, list.filter);
    let (from, to) = (list.first + 1, list.first + list.runs.len());
    let shown = match list.runs {
        [] => "No run matches.".to_owned(),
        _ => format!("{from} to {to} of {} runs, the newest first.", count(list.total as f64)),
    };
    html.element("<p class=\"facts\">", &shown, "</p>\n");
    html.raw("<form action=\"/compare\">\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" ");
    html.raw("aria-label=\"table\">\n<table id=\"runs\">\n<thead>\n<tr>");
    for heading in HEADINGS {
        html.element("<th scope=\"col\">", heading, "</th>");
    }
    html.raw("</tr>\n</thead>\n<tbody>\n");
    for line in list.runs {
        row(&mut html, line);
    }
    html.raw("</tbody>\n</table>\n</div>\n");
    html.raw("<p class=\"controls\"><button>Compare the chosen runs</button></p>\n</form>\n");
    if list.page > 0 {
        page_link(&mut html, list, list.page - 1, "Newer runs");
    }
    if list.has_older {
        page_link(&mut html, list, list.page + 1, "Older runs");
    }
    html.raw("<h2>One method over time</h2>\n<form action=\"/history\" class=\"controls\">\n");
    hidden(&mut html, list.filter);
    field(&mut html, "method", "Method", "");
    field(&mut html, "metric", "Metric", "wall");
    html.raw("<button>Show</button>\n</form>\n</main>\n</body>\n</html>\n");
    html.0
}

/// `drawn` is the text of the command that draws it.
pub fn over_time(method: &str, metric: &str, drawn: &str) -> String {
    let mut html = Html(String::new());
    head(&mut html, &format!("bytelab: {metric} of {method}"), WITHOUT_SCRIPT);
    html.raw("<header>\n<p class=\"kicker\"><a href=\"/\">bytelab</a></p>\n");
    html.element("<h1>", &format!("{metric} of {method} over time"), "</h1>\n</header>\n");
    html.lines(drawn);
    html.raw("</main>\n</body>\n</html>\n");
    html.0
}

fn filter_form(html: &mut Html, filter: &Filter) {
    html.raw("<form action=\"/\" class=\"controls\" id=\"filter\">\n");
    field(html, "experiment", "Experiment", &filter.experiment);
    field(html, "label", "Label (* is any text)", &filter.label);
    field(html, "machine", "Machine", &filter.machine);
    html.raw("<button>Filter</button> <a href=\"/\">All runs</a>\n</form>\n");
}

fn field(html: &mut Html, name: &'static str, title: &'static str, value: &str) {
    html.element("<label>", title, " ");
    html.element("<input name=\"", name, "\"");
    html.element(" value=\"", value, "\"></label>\n");
}

fn hidden(html: &mut Html, filter: &Filter) {
    for (name, value) in fields(filter) {
        html.element("<input type=\"hidden\" name=\"", name, "\"");
        html.element(" value=\"", value, "\">\n");
    }
}

fn fields(filter: &Filter) -> [(&'static str, &str); 3] {
    let Filter { experiment, label, machine } = filter;
    [("experiment", experiment), ("label", label), ("machine", machine)]
}

fn row(html: &mut Html, line: &HistoryLine) {
    let run = &line.run;
    html.element("<tr><th scope=\"row\"><a href=\"/run/", &run.id, "\">");
    html.element("", &run.id, "</a></th>");
    html.element("<td><input type=\"checkbox\" name=\"run\" value=\"", &run.id, "\"");
    html.element(" aria-label=\"compare run ", &run.id, "\"></td>");
    let machine = &run.machine;
    let fingerprint: String = machine.fingerprint.chars().take(8).collect();
    let machine = format!("{} {fingerprint}", machine.cpu_model.as_deref().unwrap_or_default());
    html.element("<td>", &minute(&run.started), "</td>");
    html.element("<td>", run.label.as_deref().unwrap_or_default(), "</td>");
    html.element("<td>", &line.measured, "</td>");
    let took = line.took_ns.map(|took_ns| units::ns(took_ns as f64)).unwrap_or_default();
    html.element("<td class=\"number\">", &took, "</td>");
    html.element("<td>", &line.fastest, "</td>");
    html.element("<td>", machine.trim(), "</td>");
    html.element("<td>", if run.complete { "yes" } else { "no" }, "</td></tr>\n");
}

fn page_link(html: &mut Html, list: &RunList<'_>, page: usize, title: &'static str) {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(fields(list.filter));
    query.append_pair("page", &page.to_string());
    html.element("<p><a href=\"/?", &query.finish(), "\">");
    html.element("", title, "</a></p>\n");
}
