//! A worker and nothing else, for the tests.

fn main() -> std::process::ExitCode {
    toolrail_scripts::run_worker()
}
