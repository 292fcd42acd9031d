// What the archive of the package has besides compiled code: the pages for its users and the files that they name, where the repository
// has them. A link to anything else leads to the repository on the web, at the version of the archive.

import { readdirSync } from "node:fs";
import { join, posix } from "node:path";

/** Their readers have a checkout. */
const FOR_DEVELOPERS = /^src\/(?:README\.md$|kernel\/(?:object|body|store|record)\/|demo\/)/;

const PAGE = /(?:^|\/)README\.md$|^docs\/[\w-]+\.md$/;

/** Dashboard and alerts, the operator API's description, and what several processes behind a proxy need. */
const NAMED = /^src\/(?:operator\/(?:grafana\/[\w.-]+|openapi\.json)|serve\/processes\/[\w.@-]+)$/;

/** Paths from the root of `project`, in order. */
export function packedFiles(project: string): readonly string[] {
  const inFolders = ["docs", "src"].flatMap((folder) =>
    readdirSync(join(project, folder), { recursive: true, encoding: "utf8" })
      .map((name) => `${folder}/${name.replaceAll("\\", "/")}`)
      .filter((path) => (PAGE.test(path) && !FOR_DEVELOPERS.test(path)) || NAMED.test(path)),
  );
  return ["CHANGELOG.md", "LICENSE", "README.md", ...inFolders.toSorted()];
}

const FENCED = /^( *)```[^]*?^\1```$/gm;
const LINK = /(!?)\[((?:[^\][]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g;

/** A page as the archive has it. `repository`: the URL of its root on the web, `https://github.com/OWNER/NAME`. */
export function packedPage(
  path: string,
  text: string,
  packed: ReadonlySet<string>,
  { repository, version }: { readonly repository: string; readonly version: string },
): string {
  const outside = (whole: string, picture: string, words: string, link: string): string => {
    const [target = "", anchor] = link.split("#");
    if (target === "" || /^[a-z]+:/.test(target)) return whole;
    const file = posix.normalize(posix.join(posix.dirname(path), target));
    if (packed.has(file)) return whole;
    const kind = picture === "" ? "blob" : "raw";
    const after = anchor === undefined ? "" : `#${anchor}`;
    return `${picture}[${words}](${repository}/${kind}/v${version}/${file.replace(/\/$/, "")}${after})`;
  };
  let done = "";
  let from = 0;
  for (const { index, 0: block } of text.matchAll(FENCED)) {
    done += text.slice(from, index).replaceAll(LINK, outside) + block;
    from = index + block.length;
  }
  return done + text.slice(from).replaceAll(LINK, outside);
}
