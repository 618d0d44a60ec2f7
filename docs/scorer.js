// Ranks the results of the search (`html_search_scorer`). Without it, all pages with a word of the query in any heading
// have the same score, and are sorted by name. A page whose title or path has more words of the query is first.
const stems = (text) => {
  const stemmer = new Stemmer();
  const words = text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  return new Set(words.filter((word) => !stopwords.has(word)).map((word) => stemmer.stemWord(word)));
};

var Scorer = {
  score: ([page, title, , , score, , kind]) => {
    const query = stems(new URLSearchParams(window.location.search).get("q") ?? "");
    const names = stems(title);
    const path = page.replace(/^operate\//, ""); // "operations" has the same stem as this folder
    const matched = [...query].filter((word) => names.has(word));
    const inPath = [...query].filter((word) => !names.has(word) && stems(path).has(word));
    const known = { changelog: -10, "reference/statuses": 3 };
    const kindOfPage = known[page] ?? (page.startsWith("reference/") ? 2 : 0);
    const part = (some, all) => some / Math.max(all, 1);
    return (
      score +
      40 * part(matched.length + inPath.length, query.size) +
      10 * part(matched.length, names.size) +
      (kind === "title" ? 1 : 0) +
      kindOfPage
    );
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
