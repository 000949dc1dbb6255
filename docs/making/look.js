/* What is wrong with the page that is open, one line each; look.py runs this in Chromium. */
(() => {
  const problems = new Set();
  const told = (element) => element.outerHTML.replace(/\s+/g, " ").slice(0, 80);
  const style = (element) => getComputedStyle(element);

  /* ---- what leaves the screen sideways without a box that scrolls */

  const scrolls = (element) => ["auto", "scroll"].includes(style(element).overflowX);
  const boxed = (element) => {
    for (let box = element; box && !box.matches(".bd-article"); box = box.parentElement)
      if (scrolls(box)) return true;
    return false;
  };
  if (document.documentElement.scrollWidth > innerWidth)
    problems.add(`is ${document.documentElement.scrollWidth} px wide on ${innerWidth}`);
  for (const element of document.querySelectorAll(".bd-article *"))
    if (element.getBoundingClientRect().right > innerWidth + 1 && !boxed(element))
      problems.add(`leaves the screen: ${told(element)}`);

  /* ---- pictures, formulas, names */

  for (const image of document.images) {
    if (image.complete && !image.naturalWidth) problems.add(`cannot be drawn: ${told(image)}`);
    for (const name of ["alt", "width", "height"])
      if (!image.hasAttribute(name)) problems.add(`has no ${name}: ${told(image)}`);
  }
  for (const formula of document.querySelectorAll("[data-mjx-error], mjx-container [fill=red]"))
    problems.add(`is no formula: ${told(formula)}`);
  if (document.querySelectorAll("h1").length !== 1) problems.add("does not have one heading h1");
  if (!document.documentElement.lang) problems.add("does not say its language");

  /* ---- contrast, after the Web Content Accessibility Guidelines 2.2: 4.5, or 3 for large text */

  const numbers = (colour) => {
    const [red, green, blue, alpha = 1] = colour.match(/[\d.]+/g).map(Number);
    return { rgb: [red, green, blue], alpha };
  };
  const over = (front, alpha, back) => front.map((value, i) => alpha * value + (1 - alpha) * back[i]);
  const paper = (element) => {
    if (!element) return [255, 255, 255];
    const { rgb, alpha } = numbers(style(element).backgroundColor);
    return alpha === 1 ? rgb : over(rgb, alpha, paper(element.parentElement));
  };
  const luminance = (rgb) => {
    const [red, green, blue] = rgb.map((value) =>
      value <= 10.31475 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ratio = (one, other) => {
    const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
  };
  const hidden = (element) => {
    const box = element.getBoundingClientRect();
    return box.width <= 1 || box.height <= 1 || !element.checkVisibility({ visibilityProperty: true });
  };
  const seen = new Set();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.textContent.trim() || seen.has(element)) continue;
    seen.add(element);
    if (element.closest("script, style, noscript, title, mjx-assistive-mml") || hidden(element)) continue;
    const { fontSize, fontWeight, color, fill } = style(element), back = paper(element);
    const ink = numbers(element.closest("svg") ? fill : color);
    const large = parseFloat(fontSize) >= (fontWeight >= 700 ? 18.66 : 24);
    const found = ratio(over(ink.rgb, ink.alpha, back), back);
    if (found < (large ? 3 : 4.5)) problems.add(`has a contrast of ${found.toFixed(2)}: ${told(element)}`);
  }
  return [...problems];
})()
