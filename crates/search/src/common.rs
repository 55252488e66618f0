//! Words that say little about what a tool is for, in English (stems) and Chinese: a small catalogue may have them in a single
//! description, which makes them look rare. How rare a word is, is therefore reckoned as if so many more documents had been
//! seen, of which a part had the word.

/// The part of all descriptions and requests that has a word, as far as it is known to be common.
pub(crate) fn commonness(stem: &str) -> f32 {
    TIERS.iter().find(|(_, words)| words.binary_search(&stem).is_ok()).map_or(0.0, |(part, _)| *part)
}

const TIERS: &[(f32, &[&str])] = &[(0.25, VERY), (0.12, RATHER), (0.05, SOMEWHAT)];

/// Sorted.
const VERY: &[&str] = &[
    "ask", "assist", "can", "could", "find", "get", "give", "go", "hello", "help", "hey", "hi", "inform", "know",
    "let", "like", "look", "make", "need", "pleas", "provid", "tell", "thank", "use", "want", "would", "使用", "信息",
    "可以", "告诉", "希望", "帮", "帮助", "帮忙", "帮我", "想", "想要", "我想", "提供", "查", "查看", "查询", "知道", "给", "能", "获取", "请",
    "进行", "需要", "麻烦",
];

/// Sorted.
const RATHER: &[&str] = &[
    "abl", "also", "avail", "base", "best", "better", "check", "current", "data", "detail", "differ", "easi", "ensur",
    "exampl", "explor", "featur", "follow", "gain", "general", "good", "great", "includ", "interest", "latest",
    "learn", "list", "mani", "mention", "new", "now", "offer", "one", "option", "plan", "possibl", "question",
    "quick", "read", "recent", "recommend", "relat", "request", "requir", "result", "return", "search", "see", "set",
    "show", "some", "specif", "start", "suggest", "support", "sure", "take", "task", "thing", "time", "today", "tool",
    "tri", "understand", "updat", "user", "various", "view", "way", "well", "wonder", "work", "year", "一下", "一个",
    "一些", "任务", "具体", "功能", "包括", "工具", "建议", "情况", "推荐", "支持", "数据", "方式", "最新", "最近", "服务", "查找", "用户", "相关",
    "结果", "详细",
];

/// Sorted.
const SOMEWHAT: &[&str] = &[
    "abil", "access", "action", "activ", "add", "allow", "answer", "approach", "appropri", "area", "around", "call",
    "care", "chang", "choos", "come", "compar", "complet", "consid", "contain", "content", "creat", "day", "decid",
    "descript", "determin", "develop", "discuss", "doe", "effect", "effici", "enabl", "engag", "enhanc", "experi",
    "feel", "first", "focus", "form", "gather", "happen", "high", "idea", "identifi", "import", "improv", "increas",
    "individu", "insight", "instanc", "issu", "item", "keep", "kind", "last", "level", "life", "live", "long",
    "longer", "lot", "main", "major", "manag", "mean", "method", "minut", "month", "much", "multipl", "name",
    "number", "open", "opportun", "order", "overal", "part", "peopl", "perform", "person", "place", "point",
    "popular", "potenti", "prefer", "prepar", "problem", "process", "product", "project", "purpos", "put", "receiv",
    "regard", "relev", "report", "right", "run", "second", "select", "servic", "sever", "share", "situat", "small",
    "solut", "someth", "soon", "special", "specifi", "state", "step", "still", "stop", "talk", "top", "total",
    "toward", "track", "turn", "type", "uniqu", "up", "valu", "visit", "watch", "week", "weekend", "whether", "world",
    "了解", "什么", "今天", "关于", "内容", "分析", "列表", "创建", "名称", "处理", "如何", "安排", "应该", "方法", "时间", "明天", "显示", "最好",
    "管理", "类型", "能够", "计划", "记录", "设置", "返回", "选择", "问题",
];
