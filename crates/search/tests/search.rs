//! What a search finds, and in which order.

use std::sync::Arc;
use std::time::{Duration, Instant};

use toolrail_search::{
    Document, Extras, Hit, Index, Learnt, Meaning, Parameter, Parameters, Pattern, PatternError,
    PatternQuery, PatternSearch, Progress, Query, Texts, highlights, search, search_with,
};

type Tools = Index<Arc<str>>;

const TOOLS: &[(&str, &str)] = &[
    ("get_weather_forecast", "Tells the weather of the next days for a city"),
    ("sendEmail", "Delivers a message to a mailbox"),
    ("math.square_root", "Computes the root of a number"),
    ("create_calendar_event", "Puts a meeting into the calendar"),
    ("HTTPRequestLog", "Lists the requests that a web server answered"),
    ("translate_text", "Turns a text into another language"),
    ("github__create_issue", "Opens a ticket in a repository"),
    ("查询快递", "根据运单号查询包裹的物流信息"),
    ("resize_image", "Changes width and height of a picture"),
];

fn add(index: &mut Tools, tools: &[(&str, &str)]) {
    index.apply(tools.iter().map(|(name, description)| {
        let key: Arc<str> = Arc::from(*name);
        (Arc::clone(&key), Some((Document { name, description, ..Document::default() }, key)))
    }));
}

fn catalogue() -> Tools {
    let mut index = Tools::default();
    add(&mut index, TOOLS);
    index
}

fn query(text: &str) -> Query<'_, Arc<str>> {
    Query { text, limit: 5, accept: &|_| true, prior: &|_| 0.0, learnt: None }
}

fn found(index: &Tools, text: &str) -> Vec<Arc<str>> {
    search(&[index], &query(text)).into_iter().map(|hit| hit.value).collect()
}

#[track_caller]
fn check_first(text: &str, expected: &str) {
    let found = found(&catalogue(), text);
    assert_eq!(found.first().map(|name| &**name), Some(expected), "{text}: {found:?}");
}

#[test]
fn names_are_found_by_their_parts_however_they_are_written() {
    for (text, expected) in [
        ("weather forecast", "get_weather_forecast"),
        ("send an email", "sendEmail"),
        ("square root", "math.square_root"),
        ("http request log", "HTTPRequestLog"),
        ("GET_WEATHER_FORECAST", "get_weather_forecast"),
        ("getWeatherForecast", "get_weather_forecast"),
        ("github.create_issue", "github__create_issue"),
        ("please call translate_text for me", "translate_text"),
    ] {
        check_first(text, expected);
    }
}

#[test]
fn words_are_found_by_stems_and_near_words_and_in_spite_of_misspellings() {
    for (text, expected) in [
        ("forecasting the weathers", "get_weather_forecast"),
        ("resizing of photos", "resize_image"),
        ("wether forcast", "get_weather_forecast"),
        ("trasnlate something", "translate_text"),
        ("calender meetings", "create_calendar_event"),
    ] {
        check_first(text, expected);
    }
}

#[test]
fn chinese_and_english_find_each_other() {
    for (text, expected) in [
        ("查询包裹物流", "查询快递"),
        ("查詢包裹物流", "查询快递"),
        ("ｗｅａｔｈｅｒ", "get_weather_forecast"),
        ("明天的天气怎么样", "get_weather_forecast"),
        ("发一封电子邮件", "sendEmail"),
        ("track a parcel", "查询快递"),
        ("调整图片大小", "resize_image"),
    ] {
        check_first(text, expected);
    }
}

#[test]
fn scores_are_sorted_and_lie_between_zero_and_one_and_nothing_comes_without() {
    let index = catalogue();
    for text in ["weather", "create a calendar event for the forecast", "root", "图片", "translate_text"] {
        let hits = search(&[&index], &query(text));
        assert!(!hits.is_empty(), "{text}");
        assert!(hits.iter().all(|hit| hit.score > 0.0 && hit.score <= 1.0), "{text}");
        assert!(hits.is_sorted_by(|one, two| one.score >= two.score), "{text}");
    }
    assert!(found(&index, "xylophone quokka").is_empty());
    assert!(found(&index, "").is_empty());
    assert!(found(&index, " ?!… ").is_empty());
}

#[test]
fn a_poor_best_hit_has_a_lower_score_than_a_good_one() {
    let index = catalogue();
    let score = |text: &str| search(&[&index], &query(text)).first().map_or(0.0, |hit: &Hit<_>| hit.score);
    assert!(score("weather forecast for a city") > 2.0 * score("volcano eruption seismograph city"));
}

#[test]
fn only_accepted_documents_are_found_however_many_are_not() {
    let mut index = Tools::default();
    let many: Vec<(String, String)> =
        (0..3000).map(|number| (format!("weather_{number}"), "Tells the weather".to_owned())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    add(&mut index, &many);
    let query = Query { accept: &|name: &Arc<str>| &**name == "weather_2711", ..query("weather") };
    let hits = search(&[&index], &query);
    assert_eq!(hits.iter().map(|hit| &*hit.value).collect::<Vec<_>>(), ["weather_2711"]);
}

#[test]
fn a_ranking_depends_on_the_documents_alone_and_not_on_their_history() {
    let mut index = catalogue();
    let mut state = 7_u32;
    for round in 0..400 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let name = format!("passing_{}", state >> 27);
        let key: Arc<str> = Arc::from(name.as_str());
        let text = format!("a weather calendar message number{round} for the city");
        let document = Document { name: &name, description: &text, ..Document::default() };
        let change = (!state.is_multiple_of(3)).then(|| (document, Arc::clone(&key)));
        index.apply([(key, change)]);
    }
    index.apply((0..32).map(|number| (Arc::from(format!("passing_{number}")), None)));
    let fresh = catalogue();
    assert_eq!(index.len(), fresh.len());
    for text in ["weather in the city", "a message for the calendar", "查询 image", "number7"] {
        let of = |index: &Tools| -> Vec<(Arc<str>, u32)> {
            search(&[index], &query(text)).into_iter().map(|hit| (hit.value, hit.score.to_bits())).collect()
        };
        assert_eq!(of(&index), of(&fresh), "{text}");
    }
}

#[test]
fn a_copy_keeps_what_the_original_had() {
    let mut index = catalogue();
    let copy = index.clone();
    add(&mut index, &[("get_weather_forecast", "Now about volcanoes"), ("volcano_watch", "Volcanoes")]);
    index.apply([(Arc::from("sendEmail"), None)]);
    assert_eq!(copy.len(), TOOLS.len());
    assert!(found(&copy, "volcano").is_empty());
    assert_eq!(found(&copy, "send email").first().map(|name| &**name), Some("sendEmail"));
    assert_eq!(found(&index, "volcano").len(), 2);
    assert!(!found(&index, "send email").iter().any(|name| &**name == "sendEmail"));
}

#[test]
fn several_indexes_are_searched_as_one() {
    let (mut one, mut two) = (Tools::default(), Tools::default());
    add(&mut one, &TOOLS[..4]);
    add(&mut two, &TOOLS[4..]);
    for (text, expected) in
        [("weather forecast", "get_weather_forecast"), ("web server requests", "HTTPRequestLog")]
    {
        let hits = search(&[&one, &two], &query(text));
        assert_eq!(hits.first().map(|hit| &*hit.value), Some(expected), "{text}");
    }
}

#[test]
fn every_field_is_searched_and_named_in_the_explanation() {
    let document = Document {
        name: "alpha",
        title: Some("bravo"),
        description: "charlie",
        tags: vec!["delta"],
        category: Some("echo"),
        server: Some("foxtrot"),
        server_description: Some("golf"),
        parameters: vec![Parameter { name: "hotel", description: Some("india") }],
    };
    let mut index = Tools::default();
    index.apply([(Arc::from("alpha"), Some((document, Arc::from("alpha"))))]);
    for (word, field) in [
        ("alpha", "name"),
        ("bravo", "title"),
        ("charlie", "description"),
        ("delta", "tags"),
        ("echo", "category"),
        ("foxtrot", "server"),
        ("golf", "server"),
        ("hotel", "parameters"),
        ("india", "parameters"),
    ] {
        let hits = search(&[&index], &query(word));
        let matched = &hits.first().unwrap().matched;
        assert!(
            matched.iter().any(|matched| matched.word == word && matched.field == field),
            "{word}: {matched:?}"
        );
    }
}

#[test]
fn an_explanation_says_by_which_word_something_was_found() {
    let hits = search(&[&catalogue()], &query("天气"));
    let matched = hits.first().unwrap().matched.first().unwrap().clone();
    assert_eq!(
        (matched.word.as_str(), matched.by.as_deref(), matched.field),
        ("天气", Some("weather"), "name")
    );
}

#[test]
fn what_is_used_more_comes_first_among_equals_only() {
    let mut index = catalogue();
    add(&mut index, &[("copy_x", "Copies a file"), ("copy_y", "Copies a file")]);
    let query =
        Query { prior: &|name: &Arc<str>| f32::from(u8::from(&**name == "copy_y")), ..query("copy a file") };
    let hits = search(&[&index], &query);
    assert_eq!(hits.first().map(|hit| &*hit.value), Some("copy_y"));
    let query = Query {
        prior: &|name: &Arc<str>| f32::from(u8::from(&**name == "sendEmail")),
        ..query_for_weather()
    };
    let hits = search(&[&index], &query);
    assert_eq!(hits.first().map(|hit| &*hit.value), Some("get_weather_forecast"));
    assert!(!hits.iter().any(|hit| &*hit.value == "sendEmail"), "nothing is found for its use alone");
}

fn query_for_weather() -> Query<'static, Arc<str>> {
    query("weather forecast")
}

#[test]
fn a_tool_that_was_called_after_a_query_is_found_by_it_and_by_similar_ones() {
    let index = catalogue();
    let mut learnt = Learnt::default();
    learnt.note("create_calendar_event", "nudge me about grandma's cactus", 2);
    for text in ["nudge me about grandma's cactus", "a cactus nudge for grandma"] {
        assert!(!found(&index, text).iter().any(|name| &**name == "create_calendar_event"), "{text}");
        let hits = search(&[&index], &Query { learnt: Some(&learnt), ..query(text) });
        let first = hits.first().unwrap();
        assert_eq!(&*first.value, "create_calendar_event", "{text}");
        let told = first.matched.iter().find(|matched| matched.field == "learnt").unwrap();
        assert_eq!(told.by.as_deref(), Some("nudge me about grandma's cactus"));
    }
    learnt.forget("create_calendar_event");
    let hits = search(&[&index], &Query { learnt: Some(&learnt), ..query("grandma's cactus") });
    assert!(hits.is_empty());
}

#[test]
fn a_few_calls_do_not_outweigh_what_a_definition_says() {
    let mut learnt = Learnt::default();
    learnt.note("sendEmail", "weather forecast for the city", 1);
    let hits = search(
        &[&catalogue()],
        &Query { learnt: Some(&learnt), ..query("weather forecast of the next days") },
    );
    assert_eq!(hits.first().map(|hit| &*hit.value), Some("get_weather_forecast"));
}

#[test]
fn the_rarest_past_query_makes_room_for_a_new_one() {
    let mut learnt = Learnt::default();
    learnt.note("tool", "once", 1);
    learnt.note_many((0..20).map(|_| ("tool", "often", 1)));
    let others: Vec<String> = (0..Learnt::MOST_QUERIES).map(|number| format!("query {number}")).collect();
    learnt.note_many(others.iter().map(|query| ("tool", query.as_str(), 2)));
    let kept: Vec<(&str, u32)> = learnt.queries("tool").collect();
    assert_eq!(kept.len(), Learnt::MOST_QUERIES);
    assert!(kept.contains(&("often", 20)) && !kept.iter().any(|(query, _)| *query == "once"));
}

#[test]
fn meaning_adds_to_the_score_and_finds_what_shares_no_word() {
    let index = catalogue();
    let near = |name: &Arc<str>| if &**name == "resize_image" { 0.9 } else { 0.0 };
    let candidates: [Arc<str>; 1] = [Arc::from("resize_image")];
    let meaning = Some(Meaning { score: &near, candidates: &candidates });
    let extras = Extras { parameters: &Parameters::default(), meaning };
    let hits = search_with(&[&index], &query("make my selfie smaller"), &extras);
    let hit = hits.iter().find(|hit| &*hit.value == "resize_image").unwrap();
    assert!(hit.matched.iter().any(|matched| matched.field == "meaning"));
}

fn soon() -> Instant {
    Instant::now() + Duration::from_mins(1)
}

#[test]
fn patterns_score_names_over_descriptions_over_tags() {
    let score = |pattern: &str, texts: &Texts<'_>| {
        Pattern::new(pattern).unwrap().score(texts, soon()).map(|scored| scored.0)
    };
    let texts = Texts { name: "get_weather", description: "the sky", tags: vec!["rain", "sunshine"] };
    for (pattern, expected) in [
        ("get_.*", Some(1.0)),
        ("WEATHER", Some(0.8)),
        ("the .*y", Some(0.6)),
        ("sky$", Some(0.4)),
        ("rain|snow", Some(0.5)),
        ("^sun", Some(0.3)),
        ("volcano", None),
        ("x*", None),
        // What could match all of it does, whatever it would match first.
        ("get|get_weather", Some(1.0)),
        ("get_weather??", Some(1.0)),
        ("(?x) get | get_weather # the weather", Some(1.0)),
        ("(x)?", None),
        ("(wea)?", Some(0.8)),
        ("|get_weather", Some(1.0)),
    ] {
        assert_eq!(score(pattern, &texts), expected, "{pattern}");
    }
}

#[test]
fn a_pattern_finds_tools_in_all_indexes() {
    let index = catalogue();
    let pattern = Pattern::new("^(get|create)_").unwrap();
    let texts = |name: &Arc<str>| -> Option<()> { (&**name != "create_calendar_event").then_some(()) };
    let query = PatternQuery {
        pattern: &pattern,
        limit: 10,
        texts: &|name| texts(name).map(|()| Texts { name, ..Texts::default() }),
        until: soon(),
    };
    let indexes = [&index];
    let mut search = PatternSearch::new(&indexes, &query);
    let begun = Instant::now();
    let mut steps = 1;
    while search.step(begun) == Progress::Going {
        steps += 1;
    }
    assert!(steps > search.looked_at(), "each step past its deadline looks at one more");
    assert_eq!(search.hits().iter().map(|hit| &*hit.value).collect::<Vec<_>>(), ["get_weather_forecast"]);
}

#[test]
fn a_search_by_pattern_ends_with_its_time() {
    let index = catalogue();
    let pattern = Pattern::new(".").unwrap();
    let texts: &(dyn for<'t> Fn(&'t Arc<str>) -> Option<Texts<'t>> + Sync) =
        &|name| Some(Texts { name, ..Texts::default() });
    let query = PatternQuery { pattern: &pattern, limit: 10, texts, until: Instant::now() };
    let indexes = [&index];
    let mut search = PatternSearch::new(&indexes, &query);
    assert_eq!(search.step(soon()), Progress::GivenUp);
    assert_eq!(search.looked_at(), 0);
    assert!(search.hits().is_empty());
    assert!(pattern.ranges("abc", Instant::now()).is_empty());
}

#[test]
fn what_a_pattern_marks_in_a_text_is_bounded() {
    let ranges = |pattern: &str, text: &str| Pattern::new(pattern).unwrap().ranges(text, soon());
    assert_eq!(ranges("b", "abcb"), [1..2, 3..4]);
    assert_eq!(ranges("b*", "abbc"), std::iter::once(1..3).collect::<Vec<_>>());
    assert_eq!(ranges("a", &"a".repeat(100_000)).len(), 100);
    assert!(ranges("b", &("a".repeat(5_000) + "b")).is_empty(), "only the beginning is looked at");
    assert!(ranges("x*", &"a".repeat(100_000)).is_empty());
}

#[test]
fn a_pattern_that_matches_only_places_is_refused_in_words() {
    for pattern in ["^", "$", r"\b", "(?:)", "()*", "^$", ""] {
        assert_eq!(Pattern::new(pattern).unwrap_err(), PatternError::Empty, "{pattern}");
    }
    for (pattern, matches_nothing) in [("x*", true), ("(wea)?", true), ("^get", false), (r"\bget\b|^$", true)]
    {
        assert_eq!(Pattern::new(pattern).unwrap().matches_nothing(), matches_nothing, "{pattern}");
    }
}

#[test]
fn a_wrong_pattern_is_refused_with_the_place() {
    let at = |pattern: &str| match Pattern::new(pattern) {
        Err(PatternError::Syntax { at, .. }) => at,
        other => panic!("{other:?}"),
    };
    assert_eq!(at("天气(abc"), 3);
    assert_eq!(at("ab[z-a]"), 4);
    assert_eq!(at("*"), 1);
    assert_eq!(Pattern::new(&"a".repeat(1001)).unwrap_err(), PatternError::Long(1001));
    assert_eq!(Pattern::new("(((a{100}){100}){100}){100}").unwrap_err(), PatternError::Large);
    assert!(Pattern::new(&"(".repeat(500)).is_err());
    assert!(Pattern::new(r"[一-龥]+(查询|\w+_\w+)").is_ok());
    for wide in
        [r"\pL".repeat(300), "[a-\u{10ffff}]".to_owned(), "[é-龥]".repeat(100), r"[\W&&\d]".repeat(90)]
    {
        assert_eq!(Pattern::new(&wide).unwrap_err(), PatternError::Large, "{wide}");
    }
}

#[test]
fn highlights_stand_on_character_boundaries_and_apart() {
    for (query, text, expected) in [
        ("weather forecast", "Forecasts the Weather", vec!["Forecasts", "Weather"]),
        ("天气", "明天天气 and weather", vec!["天气", "weather"]),
        ("send mail", "sendMail", vec!["sendMail"]),
        ("", "anything", vec![]),
    ] {
        let ranges = highlights(query, text);
        assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start), "{query}");
        let parts: Vec<&str> = ranges.into_iter().map(|range| text.get(range).unwrap()).collect();
        assert_eq!(parts, expected, "{query}");
    }
}

#[test]
fn no_text_is_too_long_or_too_strange() {
    let mut index = catalogue();
    let long = "é天Aa1_".repeat(40_000);
    let words = (0..20_000).map(|number| format!("word{number}x")).collect::<Vec<_>>().join(" ");
    let han = "龘".repeat(50_000);
    let odd = "\u{0}\u{202e}\u{fdfa}ﬀ①Ⅷ㍿𠮷🧪 e\u{301}".repeat(300);
    for text in [&long, &words, &han, &odd] {
        let key: Arc<str> = Arc::from("strange");
        let document = Document { name: text, description: text, tags: vec![text], ..Document::default() };
        index.apply([(Arc::clone(&key), Some((document, key)))]);
        let _ = found(&index, text);
        let _ = highlights(text, text);
        let mut learnt = Learnt::default();
        learnt.note("strange", text, 1);
        let _ = search(&[&index], &Query { learnt: Some(&learnt), ..query(text) });
    }
    index.apply([(Arc::from("strange"), None)]);
    assert_eq!(found(&index, "weather forecast"), found(&catalogue(), "weather forecast"));
}

#[test]
fn a_tool_is_found_by_its_exact_name_whatever_word_that_is() {
    let names = ["one", "get", "all", "list", "get_user", "list_orders", "all_users_of_one_group"];
    let mut index: Index<Arc<str>> = Index::default();
    index.apply(names.iter().map(|name| {
        let document = Document { name, description: "Does what it says", ..Document::default() };
        (Arc::from(*name), Some((document, Arc::from(*name))))
    }));
    for name in names {
        assert_eq!(found(&index, name).first().map(|name| &**name), Some(name));
    }
}

#[test]
fn a_word_that_a_tool_has_is_told_before_its_translation() {
    let mut index: Index<Arc<str>> = Index::default();
    let document =
        Document {
            name: "echo.request", description: "返回请求，请求的内容", ..Document::default()
        };
    index.apply([(Arc::from("echo.request"), Some((document, Arc::from("echo.request"))))]);
    for (text, word) in [("merge pull requests", "requests"), ("创建合并请求", "请求")] {
        let hits = search(&[&index], &query(text));
        let told = hits.first().unwrap().matched.iter().find(|matched| matched.word == word).unwrap();
        assert_eq!(told.by, None, "{text}");
    }
}
