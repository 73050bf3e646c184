// What the page uses of marked, for the checker.
export type Tokens = any[] & { links: Record<string, any> };
export class Marked {
  constructor(options: any);
  defaults: any;
  Lexer: new (options: any) => { tokens: Tokens; lex(text: string): Tokens };
  parser(tokens: any[]): string;
}
