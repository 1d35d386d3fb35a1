// Makes one replica set of the three MongoDB servers, and the user of Tidewheel. Runs in mongosh on the network of
// mongodb-1, since MongoDB lets a new server be set up only from its own loopback address. It may run again at any time.
const { readFileSync } = require("fs");
const secret = (name) => encodeURIComponent(readFileSync(`/run/secrets/${name}`, "utf8").trim());
const hosts = ["mongodb-1:27017", "mongodb-2:27017", "mongodb-3:27017"];
const root = `root:${secret("mongodb-root-password")}`;

function isSetUp() {
  try {
    connect(`mongodb://${root}@127.0.0.1:27017/admin?directConnection=true`);
    return true;
  } catch (error) {
    if (error.code === 18 || /authentication failed/i.test(error.message)) return false;
    throw error;
  }
}

if (!isSetUp()) {
  const admin = connect("mongodb://127.0.0.1:27017/admin?directConnection=true");
  const members = hosts.map((host, i) => ({ _id: i, host, priority: i === 0 ? 2 : 1 }));
  try {
    admin.adminCommand({ replSetInitiate: { _id: "tidewheel", members } });
  } catch (error) {
    if (error.codeName !== "AlreadyInitialized") throw error;
  }
  const until = Date.now() + 90_000;
  while (!admin.hello().isWritablePrimary) {
    if (Date.now() > until) throw new Error("mongodb-1 did not become the primary: see the logs of the three");
    sleep(500);
  }
  admin.createUser({ user: "root", pwd: decodeURIComponent(root.slice(root.indexOf(":") + 1)), roles: ["root"] });
}

const admin = connect(`mongodb://${root}@${hosts.join(",")}/admin?replicaSet=tidewheel&w=majority`);
const user = { pwd: decodeURIComponent(secret("mongodb-password")), roles: [{ role: "readWrite", db: "tidewheel" }] };
if (admin.getUser("tidewheel")) admin.updateUser("tidewheel", user);
else admin.createUser({ user: "tidewheel", ...user });
print("the replica set and the user are there");
