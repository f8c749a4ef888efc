//! Tells cargo that the program changes with the web page that is put into it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Only what is embedded: other builds read the page from the folder, and need not be made again for it. A folder
    // that is missing counts as changed, so a page that is built later is noticed.
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        println!("cargo::rerun-if-changed=../../web/dist");
    }
}
