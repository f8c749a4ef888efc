//! How a file can be shown, by the type it has in the event. The page uses the same table
//! (`web/src/run/files/preview.ts`). The content is never read.

use skillrun_model::rasp::data::PreviewKind;

/// A larger image is left to other programs. Of a text only the beginning is shown, so it has no such bound.
const MOST_IMAGE: u64 = 16 * 1024 * 1024;

const IMAGES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Texts whose type does not begin with `text/`.
const TEXTS: &[&str] = &[
    "application/jsonl",
    "application/sql",
    "application/toml",
    "application/xml",
    "application/yaml",
    "application/javascript",
];

/// None: no preview in place of the file.
pub(super) fn kind(media_type: &str, size: u64) -> Option<PreviewKind> {
    if size == 0 {
        return None;
    }
    let plain = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match plain.as_str() {
        "text/markdown" => Some(PreviewKind::Markdown),
        json if json == "application/json" || json.ends_with("+json") => Some(PreviewKind::Json),
        image if IMAGES.contains(&image) => (size <= MOST_IMAGE).then_some(PreviewKind::Image),
        text if text.starts_with("text/") || text.ends_with("+xml") || TEXTS.contains(&text) => Some(PreviewKind::Text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same rows as in `web/src/run/files/preview.test.ts`.
    #[test]
    fn what_can_be_shown_is_what_the_page_shows() {
        let shown = [
            ("text/markdown", Some(PreviewKind::Markdown)),
            ("application/json", Some(PreviewKind::Json)),
            ("application/problem+json; charset=utf-8", Some(PreviewKind::Json)),
            ("text/csv", Some(PreviewKind::Text)),
            ("TEXT/HTML", Some(PreviewKind::Text)),
            ("application/xhtml+xml", Some(PreviewKind::Text)),
            ("image/svg+xml", Some(PreviewKind::Text)),
            ("IMAGE/SVG+XML;a=b", Some(PreviewKind::Text)),
            ("image/png", Some(PreviewKind::Image)),
            ("image/bmp", None),
            ("application/pdf", None),
            ("application/octet-stream", None),
            ("", None),
        ];
        for (media_type, expected) in shown {
            assert_eq!(kind(media_type, 1), expected, "{media_type}");
        }
        assert_eq!(kind("image/png", MOST_IMAGE + 1), None, "a picture that is too large to be shown");
        assert_eq!(kind("text/plain", 0), None, "an empty file");
        assert_eq!(kind("text/plain", u64::MAX), Some(PreviewKind::Text), "its beginning is shown");
    }
}
