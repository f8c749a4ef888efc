//! Makes cargo rebuild the program when the embedded web page changes.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Only for builds that embed the page: other builds read it from the folder and need no rebuild. A folder that is
    // missing counts as changed, so a page that is built later is noticed.
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        println!("cargo::rerun-if-changed=../../web/dist");
    }
}
