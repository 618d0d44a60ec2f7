"""What a reviewer asks an applicant for, and the files that answer: scanned, encrypted, and never changed."""
