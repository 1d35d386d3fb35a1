// Package moving takes all that Tidewheel keeps from one place to another: into a backup and out of it, or from one
// store and one bucket to others.
//
// What it promises:
//   - Nothing is lost on the way. Whatever was written is read again and compared, documents by a digest that does not
//     depend on their order, objects byte by byte.
//   - A backup proves by itself whether it is complete: it ends with a manifest of the counts and the SHA-256 of each of its
//     sections. Nothing of a backup that is not whole is put anywhere.
//   - Repeating it resumes it: what is there already as it should be stays.
//   - Memory stays flat, however much there is: a page of documents, and the parts of one object.
//
// A backup is a tar file compressed with zstd:
//
//	tidewheel-backup.json             what made it, when, and what is in it
//	documents/<collection>/000001.jsonl …   documents as JSON, one a line
//	keys/<name>                       secrets of the data folder
//	objects/binaries/…, objects/logs/…, objects/artifacts/…   as in the bucket
//	manifest.json                     the sections with their counts and digests
//
// It knows no store and no S3: they are its ports. Of Tidewheel it imports engine.
package moving
