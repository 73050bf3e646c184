// What the page uses of highlight.js, for the checker.
declare const core: {
  registerLanguage(name: string, language: any): void;
  highlight(text: string, options: any): { value: string };
};
export default core;
