// What the address of a page says of its state, so that a reload shows it again.

/** Sets a parameter of the address, or takes it away where the value is "". */
export function remember(name, value) {
  const address = new URL(location.href);
  if (value) address.searchParams.set(name, value);
  else address.searchParams.delete(name);
  history.replaceState(history.state, "", address);
}
