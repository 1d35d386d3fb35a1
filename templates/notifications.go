package templates

// NotificationsPath is the address of the page of notifications.
const NotificationsPath = "/notifications"
