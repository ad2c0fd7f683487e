"use strict";
// Read Slurm's folded lists of nodes: `node[1-3,07],login` contains node2 and not node20.

const nodeLists = (() => {
  // Split at commas outside brackets.
  const parts = (list) => list.match(/(?:\[[^\]]*\]|[^,\[])+/g) ?? [];

  // Turn one part into a test of names. If a range starts with 0, a number must have the same width.
  const tester = (part) => {
    const found = /^([^\[]*)\[([\d,-]+)\](.*)$/.exec(part);
    if (!found) return (name) => name === part;
    const [, before, list, after] = found;
    const ranges = list.split(",").map((range) => range.split("-")).map(([low, high = low]) => [low, high]);
    return (name) => {
      if (!name.startsWith(before) || !name.endsWith(after)) return false;
      const number = name.slice(before.length, name.length - after.length);
      return /^\d+$/.test(number) && ranges.some(([low, high]) =>
        Number(low) <= Number(number) && Number(number) <= Number(high)
        && (low[0] === "0" ? number.length === low.length : number[0] !== "0"));
    };
  };

  const holds = (list) => {
    const testers = parts(list).map((part) => tester(part.trim()));
    return (name) => testers.some((test) => test(name));
  };

  // Return the first `most` names of a list.
  const names = (list, most = 4096) => parts(list).flatMap((part) => {
    const found = /^([^\[]*)\[([\d,-]+)\](.*)$/.exec(part.trim());
    if (!found) return [part.trim()];
    const [, before, ranges, after] = found;
    return ranges.split(",").flatMap((range) => {
      const [low, high = low] = range.split("-");
      const count = Math.min(Math.max(Number(high) - Number(low) + 1, 0), most);
      return Array.from({ length: count }, (_, step) =>
        before + String(Number(low) + step).padStart(low[0] === "0" ? low.length : 1, "0") + after);
    });
  }).slice(0, most);

  return { holds, names };
})();
