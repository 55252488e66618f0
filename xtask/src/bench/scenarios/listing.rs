//! What it costs to read the whole tool list, page by page, as the number of tools grows.

use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::super::gateway::{Gateway, Pages};
use super::super::load::Connection;
use super::super::report::{Cell, Column, Section, megabytes, number, text};
use super::super::requests::Dialect;
use super::{Scene, data_folder, median};

const COUNTS: [usize; 3] = [10, 1_000, 10_000];

const COLUMNS: &[Column] = &[
    number("tools", 0),
    text("dialect"),
    number("pages", 0),
    number("MB", 3),
    number("whole list ms", 3),
    number("CPU µs/list", 1),
    number("CPU µs/page", 1),
    number("RSS MB", 1),
];

pub(super) async fn run(scene: &Scene<'_>) -> Result<Section> {
    let mut rows = Vec::new();
    for count in COUNTS {
        eprintln!("list: {count} tools");
        let data = data_folder()?;
        let gateway = Gateway::start_with(scene.toolrail, data.path(), count, scene.upstream).await?;
        for dialect in [Dialect::Modern, Dialect::Legacy] {
            let pages = gateway.pages(dialect).await?;
            ensure!(pages.tools == count, "{} tools are listed instead of {count}", pages.tools);
            rows.push(measure_walks(scene, &gateway, dialect, &pages).await?);
        }
    }
    Ok(Section { title: "tools/list, the whole list on one connection".to_owned(), columns: COLUMNS, rows })
}

async fn measure_walks(
    scene: &Scene<'_>,
    gateway: &Gateway,
    dialect: Dialect,
    pages: &Pages,
) -> Result<Vec<Cell>> {
    let mut connection = Connection::open(gateway.address).await?;
    walk(&mut connection, pages).await?;
    let (mut milliseconds, mut cpu_us) = (Vec::new(), Vec::new());
    for _ in 0..scene.bench.effort.rounds {
        let cpu_before = gateway.process.cpu()?;
        let started = Instant::now();
        let mut walks = 0.0;
        while started.elapsed() < scene.bench.effort.window / 2 {
            let walk_started = Instant::now();
            walk(&mut connection, pages).await?;
            milliseconds.push(walk_started.elapsed().as_secs_f64() * 1e3);
            walks += 1.0;
        }
        cpu_us.push(gateway.process.cpu()?.since(&cpu_before).as_secs_f64() * 1e6 / walks);
    }
    let cpu_us = median(cpu_us);
    let page_count = u32::try_from(pages.requests.len()).context("too many pages")?;
    Ok(vec![
        Cell::from(pages.tools),
        Cell::from(dialect.name()),
        Cell::from(pages.requests.len()),
        Cell::from(megabytes(pages.bytes as u64)),
        Cell::from(median(milliseconds)),
        Cell::from(cpu_us),
        Cell::from(cpu_us / f64::from(page_count)),
        Cell::from(megabytes(gateway.process.memory()?.resident)),
    ])
}

async fn walk(connection: &mut Connection, pages: &Pages) -> Result<()> {
    for request in &pages.requests {
        connection.ask(request).await?;
    }
    Ok(())
}
