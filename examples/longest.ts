const files = (await pi.find("**/*.md", "docs")).trim().split("\n");
const pages = await parallel(files, async (file) => {
  const text = await pi.read(`docs/${file}`);
  return { file, words: text.split(/\s+/).length };
}, 8);
print(`${pages.length} pages`);
return pages.sort((a, b) => b.words - a.words).slice(0, 3);
