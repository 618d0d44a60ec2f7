"use strict";
// Redoc, with the colours that the reader's browser asks for. It has no dark scheme of its own, but a theme; what that
// does not reach is in reference.css.

const FONT = "system-ui, sans-serif";
const FONTS = { fontSize: "15px", fontFamily: FONT, headings: { fontFamily: FONT } };
const LIGHT = { colors: { primary: { main: "#0b6b51" } }, typography: FONTS };
const GROUND = "#161d1a";
const SIDE = "#101513";
const RAISED = "#212b27";
const LINE = "#3a4842";
const INK = "#e8eeeb";
const SOFT = "#a9b8b1";
const ACCENT = "#5fd3ae";
const GOOD = "#7bd88a";
const BAD = "#ff9b92";
const DARK = {
  colors: {
    primary: { main: ACCENT },
    success: { main: GOOD },
    warning: { main: "#f2bd6b" },
    error: { main: BAD },
    gray: { 50: RAISED, 100: RAISED },
    text: { primary: INK, secondary: SOFT },
    border: { dark: LINE, light: LINE },
    responses: {
      success: { tabTextColor: GOOD },
      error: { tabTextColor: BAD },
      redirect: { color: "#f2bd6b", tabTextColor: "#f2bd6b" },
      info: { color: "#7cc4e8", tabTextColor: "#7cc4e8" },
    },
  },
  schema: { nestedBackground: SIDE, linesColor: "#4a5a53", typeNameColor: SOFT },
  typography: { ...FONTS, code: { color: "#ffb4a2", backgroundColor: RAISED }, links: { color: ACCENT, hover: INK } },
  sidebar: {
    backgroundColor: SIDE,
    textColor: INK,
    activeTextColor: ACCENT,
    groupItems: { activeBackgroundColor: LINE },
    level1Items: { activeBackgroundColor: RAISED },
  },
  rightPanel: {
    backgroundColor: "#1a2420",
    textColor: INK,
    servers: { overlay: { backgroundColor: RAISED, textColor: INK }, url: { backgroundColor: GROUND } },
  },
  codeBlock: { backgroundColor: "#0d1311" },
  fab: { backgroundColor: RAISED, color: ACCENT },
};

const place = document.getElementById("reference");
const darkness = window.matchMedia("(prefers-color-scheme: dark)");
// Redoc takes its theme once: who changes the scheme gets the page anew, at the operation where it was.
darkness.addEventListener("change", () => window.location.reload());
Redoc.init(
  place.dataset.document,
  {
    sortRequiredPropsFirst: true,
    jsonSamplesExpandLevel: 3,
    payloadSampleIdx: 3, // behind the samples of code
    theme: darkness.matches ? DARK : LIGHT,
  },
  place,
);
