//! `/docs`: the API reference for people, generated from the same description as `/openapi.json`.

use std::sync::OnceLock;

use serde_json::Value;

use crate::openapi;
use crate::problem::ProblemCode;

/// Generated once: it does not change while the program runs.
pub(super) fn page() -> &'static str {
    static PAGE: OnceLock<String> = OnceLock::new();
    PAGE.get_or_init(|| render(&openapi::document()))
}

/// A route: its method, path and description.
type RouteEntry<'a> = (&'a str, &'a str, &'a Value);

fn render(document: &Value) -> String {
    let mut all: Vec<RouteEntry<'_>> = Vec::new();
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        all.extend(
            methods
                .as_object()
                .into_iter()
                .flatten()
                .map(|(method, operation)| (method.as_str(), path.as_str(), operation)),
        );
    }
    // Runs first, routes about the service itself last.
    all.sort_by_key(|(_, path, _)| (!path.starts_with("/v1/runs"), !path.starts_with("/v1/"), *path));
    let index: String = all.iter().map(index_line).collect();
    let sections: String = all.iter().map(section).collect();
    let problems: String = ProblemCode::ALL.iter().map(|code| problem_line(*code)).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>skillrun API</title>\n\
         <link rel=\"stylesheet\" href=\"/page.css\">\n<main>\n<h1>skillrun API</h1>\n\
         <p>Programs send a token as <code>Authorization: Bearer TOKEN</code>. The machine-readable description is \
         <a href=\"/openapi.json\"><code>/openapi.json</code></a>. Every error is returned as \
         <code>application/problem+json</code>, see <a href=\"#problems\">problems</a>.</p>\n\
         <nav><table>\n{index}</table></nav>\n{sections}\
         <section id=\"problems\">\n<h2>Problems</h2>\n<p>Each has a code, whether a retry can help, and what to \
         do. These can come from every route: INVALID_REQUEST, UNAUTHORIZED, FORBIDDEN, HOST_REFUSED, ORIGIN_REFUSED, \
         STOPPING.</p>\n<table>\n{problems}</table>\n</section>\n</main>\n"
    )
}

fn id(operation: &Value) -> String {
    escaped(operation["operationId"].as_str().unwrap_or_default())
}

fn index_line((method, path, operation): &RouteEntry<'_>) -> String {
    let (method, path, id) = (method.to_uppercase(), escaped(path), id(operation));
    let summary = escaped(operation["summary"].as_str().unwrap_or_default());
    format!("<tr><td><a href=\"#{id}\"><code>{method} {path}</code></a></td><td>{summary}</td></tr>\n")
}

fn problem_line(code: ProblemCode) -> String {
    let (status, action) = (code.status().as_u16(), escaped(code.next_action()));
    format!("<tr><td>{status} <code>{}</code></td><td>{action}</td></tr>\n", code.as_str())
}

fn section((method, path, operation): &RouteEntry<'_>) -> String {
    let text = |value: &Value| escaped(value.as_str().unwrap_or_default()).replace('`', "");
    let mut html = format!(
        "<section id=\"{}\">\n<h2><code>{} {}</code></h2>\n<p>{}. {}</p>\n<table>\n",
        id(operation),
        method.to_uppercase(),
        escaped(path),
        text(&operation["summary"]),
        text(&operation["description"]),
    );
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        html += &format!(
            "<tr><td><code>{}</code> <small>{}</small></td><td>{}</td></tr>\n",
            text(&parameter["name"]),
            text(&parameter["in"]),
            text(&parameter["description"])
        );
    }
    for (media, content) in operation["requestBody"]["content"].as_object().into_iter().flatten() {
        html += &format!("<tr><td>body</td><td><code>{}</code>", escaped(media));
        if let Some(example) = content.get("example") {
            html += &format!(", such as <code>{}</code>", escaped(&example.to_string()));
        }
        html += "</td></tr>\n";
    }
    for (status, answer) in operation["responses"].as_object().into_iter().flatten() {
        let is_everywhere = matches!(status.as_str(), "400" | "401" | "403" | "503");
        if !is_everywhere {
            html += &format!("<tr><td>{}</td><td>{}</td></tr>\n", escaped(status), text(&answer["description"]));
        }
    }
    html + "</table>\n</section>\n"
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_and_every_problem_is_there() {
        let page = page();
        for route in crate::routes::all() {
            assert!(page.contains(&format!("id=\"{}\"", route.operation.id)), "{}", route.operation.id);
        }
        for code in ProblemCode::ALL {
            assert!(page.contains(code.as_str()), "{}", code.as_str());
        }
        assert_eq!(escaped("<a href=\"x\">&"), "&lt;a href=&quot;x&quot;&gt;&amp;");
    }
}
