//! A made-up catalogue of any size: tools in English and Chinese with the lengths and word frequencies of real ones, and what
//! people would ask of it. The same in every run.

use serde_json::{Value, json};
use toolrail_search::{Document, Parameter};

use super::random::Random;

const WORDS: &str = include_str!("words.txt");
const VERBS: &[&str] = &[
    "get",
    "list",
    "create",
    "search",
    "update",
    "delete",
    "find",
    "send",
    "check",
    "calculate",
    "convert",
    "generate",
    "analyze",
    "compare",
    "export",
    "import",
    "download",
    "upload",
    "schedule",
    "cancel",
    "track",
    "translate",
    "validate",
    "extract",
    "merge",
    "monitor",
    "recommend",
    "book",
    "share",
    "archive",
    "summarize",
    "predict",
];
const CHINESE_VERBS: &[&str] = &[
    "查询", "获取", "创建", "更新", "删除", "搜索", "发送", "计算", "生成", "分析", "转换", "比较", "导出",
    "下载", "上传", "预订", "推荐", "监控", "翻译", "取消",
];
const SYLLABLES: &[&str] = &[
    "zen", "tro", "va", "lu", "mi", "kor", "pax", "neo", "ri", "sta", "qua", "bex", "dol", "fi", "gra",
    "hum", "jo", "kel", "lan", "mor", "nix", "ova", "pri", "rux", "sol", "tem", "ul", "vor", "wix", "yan",
];
const OPENINGS: &[&str] = &[
    "Please help me",
    "I would like to",
    "Could you",
    "I need to",
    "For my project I want to",
    "Before Friday I have to",
];
const CHINESE_OPENINGS: &[&str] = &["请帮我", "我想", "能不能", "麻烦你", "我需要"];
const ARGUMENTS: &[&str] =
    &["id", "query", "limit", "name", "start_date", "end_date", "format", "page", "filter", "language"];

/// Which languages the catalogue is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Languages {
    /// English alone.
    English,
    /// Three tools in ten are described in Chinese.
    Mixed,
}

struct Domain {
    name: &'static str,
    nouns: Vec<&'static str>,
    chinese: Vec<&'static str>,
}

/// Makes tools and queries.
pub(super) struct Catalogue {
    domains: Vec<Domain>,
    languages: Languages,
    servers: usize,
}

/// One made-up tool.
pub(super) struct Made {
    name: String,
    pub(super) description: String,
    tags: Vec<&'static str>,
    category: &'static str,
    server: String,
    parameters: Vec<(String, String)>,
}

impl Catalogue {
    pub(super) fn new(size: usize, languages: Languages) -> Self {
        let lines = WORDS.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        let domains = lines.filter_map(domain).collect();
        Self { domains, languages, servers: (size / 15).max(1) }
    }

    /// The tool of that number, whatever was made before.
    pub(super) fn tool(&self, number: usize) -> Made {
        let mut random = Random::new(number as u64);
        let server = random.favouring_first(self.servers);
        let domain = &self.domains[server % self.domains.len()];
        let in_chinese = self.languages == Languages::Mixed && random.percent(30);
        let verb = random.often_first(VERBS);
        let name = match random.below(3) {
            0 => format!("{verb}_{}", random.often_first(&domain.nouns)),
            1 => format!("{verb}_{}_{}", random.often_first(&domain.nouns), random.any(&domain.nouns)),
            _ => format!("{verb}{}", capitalised(random.often_first(&domain.nouns))),
        };
        let sentences = 1 + random.favouring_first(5);
        let sentence = |random: &mut Random| {
            if in_chinese { chinese_sentence(random, domain) } else { self.sentence(random, domain) }
        };
        let description: Vec<String> = (0..sentences).map(|_| sentence(&mut random)).collect();
        let argument = if in_chinese { chinese_argument } else { english_argument };
        let arguments = random.favouring_first(8);
        let parameters =
            (0..arguments).map(|_| (argument_name(&mut random, domain), argument(&mut random, domain)));
        let parameters = parameters.collect();
        let tags = (0..random.below(4)).map(|_| random.any(&domain.nouns)).collect();
        let server = brand(server);
        Made { name, description: description.join(" "), tags, category: domain.name, server, parameters }
    }

    fn sentence(&self, random: &mut Random, domain: &Domain) -> String {
        let mut words = vec![capitalised(random.often_first(VERBS)), "the".to_owned()];
        for place in 0..random.between(3, 14) {
            let other = &self.domains[random.favouring_first(self.domains.len())];
            words.push(match random.below(10) {
                0 | 1 => {
                    random.often_first(&["of", "and", "for", "with", "by", "in", "a", "from"]).to_owned()
                }
                2 => random.any(&other.nouns).to_owned(),
                3 if place > 3 => brand(random.favouring_first(20_000)),
                _ => random.often_first(&domain.nouns).to_owned(),
            });
        }
        words.join(" ") + "."
    }

    /// So many queries: four in ten short, three long, three Chinese (or else short ones too).
    pub(super) fn queries(&self, count: usize) -> Vec<String> {
        let mut random = Random::new(1_000_003);
        let made = (0..count).map(|number| {
            let domain = self.domains.get(random.favouring_first(self.domains.len()));
            let domain = domain.unwrap_or(&self.domains[0]);
            match (number % 10, self.languages) {
                (0..4, _) | (7.., Languages::English) => short_query(&mut random, domain),
                (4..7, _) => self.long_query(&mut random, domain),
                (_, Languages::Mixed) => chinese_query(&mut random, domain),
            }
        });
        made.collect()
    }

    fn long_query(&self, random: &mut Random, domain: &Domain) -> String {
        let steps: Vec<String> =
            (0..random.between(2, 4)).map(|_| self.sentence(random, domain).to_lowercase()).collect();
        format!("{} {}", random.any(OPENINGS), steps.join(" Then "))
    }
}

impl Made {
    pub(super) fn document(&self) -> Document<'_> {
        Document {
            name: &self.name,
            description: &self.description,
            tags: self.tags.clone(),
            category: Some(self.category),
            server: Some(&self.server),
            parameters: self.parameters.iter().map(parameter).collect(),
            ..Document::default()
        }
    }

    /// The tool as a line of a set.
    pub(super) fn to_json(&self, number: usize) -> Value {
        let name = format!("{}_{number}", self.name);
        json!({"name": name, "description": self.description, "tags": self.tags, "category": self.category})
    }
}

fn parameter((name, description): &(String, String)) -> Parameter<'_> {
    Parameter { name, description: Some(description) }
}

fn domain(line: &'static str) -> Option<Domain> {
    let mut parts = line.split(';').map(str::trim);
    let (name, nouns, chinese) = (parts.next()?, parts.next()?, parts.next()?);
    let words = |text: &'static str| text.split_whitespace().collect();
    Some(Domain { name, nouns: words(nouns), chinese: words(chinese) })
}

fn chinese_sentence(random: &mut Random, domain: &Domain) -> String {
    let mut text = random.often_first(CHINESE_VERBS).to_owned();
    for _ in 0..random.between(2, 7) {
        text += random.often_first(&domain.chinese);
        text += random.often_first(&["的", "和", "，", "及其", "在", "按"]);
    }
    text + random.any(&domain.chinese) + "。"
}

fn argument_name(random: &mut Random, domain: &Domain) -> String {
    if random.percent(50) {
        return random.often_first(ARGUMENTS).to_owned();
    }
    format!("{}_id", random.often_first(&domain.nouns))
}

fn english_argument(random: &mut Random, domain: &Domain) -> String {
    let (what, noun) =
        (random.often_first(&["identifier", "name", "number", "date"]), random.any(&domain.nouns));
    format!("The {what} of the {noun} to {}", random.any(VERBS))
}

fn chinese_argument(random: &mut Random, domain: &Domain) -> String {
    format!("{}的{}", random.any(&domain.chinese), random.often_first(&["标识", "名称", "数量", "日期"]))
}

fn short_query(random: &mut Random, domain: &Domain) -> String {
    let (verb, noun) = (random.often_first(VERBS), random.often_first(&domain.nouns));
    if random.percent(50) {
        format!("{verb} {noun}")
    } else {
        format!("{verb} {noun} {}", random.any(&domain.nouns))
    }
}

fn chinese_query(random: &mut Random, domain: &Domain) -> String {
    let opening = if random.percent(50) { random.any(CHINESE_OPENINGS) } else { "" };
    let (verb, noun) = (random.often_first(CHINESE_VERBS), random.often_first(&domain.chinese));
    format!("{opening}{verb}{noun}的{}", random.any(&domain.chinese))
}

/// A name that nobody else has: rare words are what makes vocabularies large.
fn brand(number: usize) -> String {
    let mut name = String::new();
    let mut rest = number + SYLLABLES.len();
    while rest > 0 {
        name += SYLLABLES[rest % SYLLABLES.len()];
        rest /= SYLLABLES.len();
    }
    name
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_the_same_whenever_it_is_made() {
        let catalogue = Catalogue::new(1000, Languages::Mixed);
        for number in [0, 17, 999] {
            assert_eq!(catalogue.tool(number).document(), catalogue.tool(number).document());
        }
        assert_ne!(catalogue.tool(1).description, catalogue.tool(2).description);
    }

    #[test]
    fn chinese_is_there_only_where_it_is_asked_for() {
        let is_chinese = |text: &str| text.chars().any(|letter| ('\u{4e00}'..'\u{9fff}').contains(&letter));
        let share = |languages| {
            let catalogue = Catalogue::new(1000, languages);
            (0..1000).filter(|number| is_chinese(&catalogue.tool(*number).description)).count()
        };
        assert_eq!(share(Languages::English), 0);
        assert!((200..400).contains(&share(Languages::Mixed)));
        let asked = |languages| {
            Catalogue::new(1000, languages).queries(100).iter().filter(|text| is_chinese(text)).count()
        };
        assert_eq!((asked(Languages::English), asked(Languages::Mixed)), (0, 30));
    }
}
