import { FORMAT, type Data, type Texts } from "./generated.js";

/** The data that the report was written with. Throws when it is missing or of another version. */
export function readData(root: Document): Data {
  const content = root.getElementById("data")?.textContent ?? "";
  if (content.trim() === "") throw new Error("This page holds no report: it is the empty template.");
  return checked(JSON.parse(content) as Data);
}

/** The same data. Throws when it is of another version. */
export function checked(data: Data): Data {
  if (data.format !== FORMAT) throw new Error(`This page reads data of format ${FORMAT} and was given ${data.format}.`);
  return data;
}

/** A column of texts, row by row; null where there is none. */
export function texts(column: Texts): (string | null)[] {
  return column.code.map((code) => column.texts[code] ?? null);
}
