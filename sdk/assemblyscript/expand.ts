import { Variables } from "./wharf";

const UNRESERVED = "-._~";
const RESERVED = ":/?#[]@!$&'()*+,;=";

/** The template with the variables filled in (RFC 6570, section 3.2). Matching, which is the inverse, is the host's work. */
export function expand(template: string, variables: Variables): string {
  let uri = "";
  let at = 0;
  while (true) {
    const open = template.indexOf("{", at);
    const close = template.indexOf("}", open);
    if (open < 0 || close < 0) return uri + template.substring(at);
    uri += template.substring(at, open) + expression(template.substring(open + 1, close), variables);
    at = close + 1;
  }
}

function expression(text: string, variables: Variables): string {
  const operator = "+#./;?&".includes(text.charAt(0)) ? text.charAt(0) : "";
  const reserved = operator == "+" || operator == "#";
  const named = operator == ";" || operator == "?" || operator == "&";
  const between = operator == "?" || operator == "&" ? "&" : reserved || operator == "" ? "," : operator;
  let before = operator == "+" ? "" : operator;
  let out = "";
  const names = text.substring(operator.length).split(",");
  for (let i = 0; i < names.length; i++) {
    const explode = names[i].endsWith("*");
    const name = explode ? names[i].substring(0, names[i].length - 1) : names[i];
    const values = variables.all(name);
    for (let j = 0; j < values.length; j++) {
      const value = escape(values[j], reserved);
      if (j > 0 && !explode) {
        out += "," + value;
        continue;
      }
      out += before + (named ? name + (value.length || operator != ";" ? "=" : "") : "") + value;
      before = between;
    }
  }
  return out;
}

function escape(value: string, reserved: bool): string {
  const bytes = Uint8Array.wrap(String.UTF8.encode(value));
  let out = "";
  for (let i = 0; i < bytes.length; i++) {
    const c = <i32>bytes[i];
    const char = String.fromCharCode(c);
    const letter = (c >= 97 && c <= 122) || (c >= 65 && c <= 90) || (c >= 48 && c <= 57);
    if (letter || (c < 128 && (UNRESERVED.includes(char) || (reserved && RESERVED.includes(char))))) out += char;
    else out += "%" + (c < 16 ? "0" : "") + c.toString(16).toUpperCase();
  }
  return out;
}
