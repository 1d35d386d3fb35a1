// An admin adds a user and gives them roles; the user changes the password, ends a session, and makes and revokes a token.
import assert from "node:assert/strict";
import path from "node:path";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { site } from "./support/journey.mjs";

const it = site({ args: [], prepare: async (server) => {
  server.token = (await readFile(path.join(server.folder, "data", "token"), "utf8")).trim();
} });

const first = "the first password";
const second = "the second password";

const signIn = async (page, name, password) => {
  await page.getByRole("heading", { level: 1, name: "Sign in to Tidewheel" }).waitFor();
  if (name === "root") {
    await page.getByLabel("Token").fill(it.server.token);
  } else {
    await page.getByLabel("Name", { exact: true }).fill(name);
    await page.getByLabel("Password", { exact: true }).fill(password);
  }
  await page.getByRole("button", { name: "Sign in", exact: true }).first().click();
};

const menu = async (page, item) => {
  await page.locator(".account-menu summary").click();
  await page.locator(".account-menu").getByText(item, { exact: true }).click();
};

const confirm = (page, verb) => page.getByRole("dialog").getByRole("button", { name: verb, exact: true }).click();

const asks = async (token) => (await fetch(`${it.server.url}/api/v1/users/me`, { headers: { Authorization: `Bearer ${token}` } })).status;

test("an admin adds a user and gives a role", async () => {
  const page = await it.open("/");
  await signIn(page, "root");
  await menu(page, "Users");
  await page.getByText("There are no users.").waitFor();
  await page.getByLabel("Name", { exact: true }).last().fill("Ada");
  await page.getByLabel("Password").fill(first);
  await page.getByLabel("Role", { exact: true }).selectOption("admin");
  await page.getByRole("button", { name: "Add user" }).click();
  await page.getByRole("heading", { level: 1, name: "ada" }).waitFor();
  await page.getByRole("button", { name: "Disable" }).click();
  await confirm(page, "Disable");
  await page.getByText("This is the last enabled user who is admin for all namespaces").waitFor();

  await page.goto("/users");
  await page.getByLabel("Name", { exact: true }).last().fill("bob");
  await page.getByLabel("Password").fill(first);
  await page.getByRole("button", { name: "Add user" }).click();
  await page.getByRole("heading", { level: 1, name: "bob" }).waitFor();
  const roles = page.getByRole("region", { name: "Roles" });
  await roles.getByLabel("Namespace").selectOption("default");
  await roles.getByLabel("Role", { exact: true }).selectOption("operator");
  await roles.getByRole("button", { name: "Give role" }).click();
  await page.getByText("The role is given.").waitFor();
  await roles.getByLabel("Role of default").selectOption("editor");
  await roles.getByRole("button", { name: "Change the role of default" }).click();
  await page.getByText("The role is given.").waitFor();
  assert.deepEqual((await it.server.api("users/bob")).grants, { default: "editor" });

  await page.goto("/namespaces");
  await page.getByText("2 members").click();
  await page.getByRole("button", { name: "Remove the role of bob" }).click();
  await page.getByText("The role is taken away.").waitFor();
  await page.getByText("1 member").click();
  await page.getByLabel("User to give a role in default").fill("bob");
  await page.getByLabel("Role to give in default").selectOption("viewer");
  await page.getByRole("button", { name: "Set in default" }).click();
  await page.getByText("The role is given.").waitFor();
  assert.deepEqual((await it.server.api("users/bob")).grants, { default: "viewer" });
});

test("a user makes and revokes a token", async () => {
  const page = await it.open("/settings/tokens");
  await signIn(page, "bob", first);
  await page.getByLabel("Name", { exact: true }).fill("deploy");
  await page.getByLabel("Role", { exact: true }).selectOption("admin");
  await page.getByRole("button", { name: "Create token" }).click();
  await page.getByText("A token may no more than you").waitFor();
  await page.getByLabel("Role", { exact: true }).selectOption("viewer");
  await page.getByLabel("Namespace", { exact: true }).selectOption("default");
  await page.getByRole("button", { name: "Create token" }).click();
  const token = await page.getByRole("region", { name: "Token deploy" }).locator("code").textContent();
  assert.equal(await asks(token), 200);
  await page.goto("/settings/tokens");
  assert.ok(!(await page.content()).includes(token), "the token is shown once");
  await page.getByRole("button", { name: "Revoke deploy" }).click();
  await confirm(page, "Revoke");
  await page.getByText("Revoked. The token opens nothing any more.").waitFor();
  assert.equal(await asks(token), 401);
});

test("a user ends a session, and changes the password", async () => {
  const [page, other] = [await it.open("/settings"), await it.open("/settings")];
  for (const each of [page, other]) await signIn(each, "bob", first);
  await other.getByRole("heading", { level: 1, name: "Profile" }).waitFor();
  await page.reload();
  await page.getByRole("button", { name: /^End the session/ }).first().waitFor();
  await page.getByRole("button", { name: "End all others" }).click();
  await page.getByText("All other sessions have ended.").waitFor();
  await other.goto("/jobs");
  await signIn(other, "bob", first);
  await page.reload();
  await page.getByRole("button", { name: /^End the session/ }).click();
  await page.getByText("The session has ended.").waitFor();
  await other.reload();
  await other.getByRole("heading", { level: 1, name: "Sign in to Tidewheel" }).waitFor();

  const change = async (current) => {
    await page.getByLabel("Current password").fill(current);
    await page.getByLabel("New password", { exact: true }).fill(second);
    await page.getByLabel("New password again").fill(second);
    await page.getByRole("button", { name: "Change password" }).click();
  };
  await change("not the password");
  await page.getByText("This is not your password.").waitFor();
  await change(first);
  await page.getByText("Your password is changed. Sign in with the new one.").waitFor();
  await signIn(page, "bob", first);
  await page.getByText("There is no user with this name and password.").waitFor();
  await signIn(page, "bob", second);
  await menu(page, "Sign out");
  await page.getByRole("heading", { level: 1, name: "Sign in to Tidewheel" }).waitFor();
});
