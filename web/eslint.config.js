import hooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["node_modules", "dist"] },
  ...tseslint.configs.recommended,
  {
    files: ["src/**/*.{ts,tsx}"],
    plugins: { "react-hooks": hooks },
    rules: { "react-hooks/rules-of-hooks": "error", "react-hooks/exhaustive-deps": "error" },
  },
  {
    files: ["e2e/**/*.ts"],
    rules: {
      "no-restricted-syntax": [
        "error",
        {
          selector:
            "CallExpression[callee.name='expect'] > :matches(AwaitExpression > CallExpression[callee.property], CallExpression[callee.property.name='url'])",
          message: "The page may not show it yet: await expect.poll(() => ...).",
        },
      ],
    },
  },
  { rules: { "@typescript-eslint/no-non-null-assertion": "off", "max-lines": ["error", 500], eqeqeq: "error" } },
  // Made from src/serve/messages.h, one type for each.
  { files: ["src/api/messages.ts"], rules: { "max-lines": "off" } },
);
